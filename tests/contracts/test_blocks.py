"""Every Python block of README.md, docs/ and recipes/ runs, and bash blocks hold real commands.

The blocks of a page run in order, in one namespace, in a folder that has what the project makes:
Field Notes as a corpus, and small pipelines where the docs say that there are trained ones. A text
block after a Python block is what it prints, as is a literal in a comment behind the print of a
block with one line of output. `<!-- only parsed: REASON -->` before a fence says why a block is not
run. Bash blocks are parsed, down to the options of this package's and spaCy's commands, and not
run: what they name takes minutes to hours. The first of docs/start.md, from an export to a model,
runs with few steps. Blocks of configs are trained in test_ini_blocks.py.
"""

import ast
import itertools
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import spacy
import srsly
import typer
from spacy.cli import app as spacy_app
from spacy.language import Language
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.folder import convert_corpus
from spacy_longtail.training.averaging import average
from tests.pipes import gated  # noqa: F401  # registers factories
from tests.util import (
    GATE_MODEL,
    ROOT,
    SMALL,
    TOKEN_MODEL,
    blank,
    examples,
    numbered,
    one_pipe,
    shared_gliner,
    small_ner,
    train,
)

PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "recipes/README.md", "tutorials/README.md")
    ),
    *(ROOT / "components" / "spacy_longtail" / "encoders").glob("*/README.md"),
    *sorted((ROOT / "docs").glob("*.md")),
]
FENCE = re.compile(
    r"(?:^<!-- only parsed: ([^\n]+) -->\n)?^( *)```(\w+)\n(.*?)^\2```$(?:\n+```text\n(.*?)^```$)?",
    flags=re.MULTILINE | re.DOTALL,
)
SHELL = ("bash", "shell")


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    prints: str | None
    only_parsed: str | None


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf8")
    for match in FENCE.finditer(text):
        reason, indent, language, code, prints = match.groups()
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        line = text[: match.start(4)].count("\n")
        yield Block(str(page.relative_to(ROOT)), line, language, code, prints, reason)


BLOCKS = [block for page in PAGES for block in read_blocks(page)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
SHELL_BLOCKS = [block for block in BLOCKS if block.language in SHELL]
RUN = sorted({block.page for block in PYTHON if not block.only_parsed})


# Pipelines where the docs have trained ones


def counted(nlp: Language, name: str) -> None:
    """Let a pipe count the toy corpus when it is initialized."""
    pipe = nlp.get_pipe(name)
    pipe.initialize = partial(pipe.initialize, counts_corpus=lambda nlp: examples(nlp))


def tagger(**settings) -> Language:
    nlp = one_pipe(**{"model": TOKEN_MODEL, "scores_key": "entity_scores", **settings})
    nlp.add_pipe("sentencizer", first=True)
    return nlp


def stock() -> Language:
    return one_pipe("ner", **small_ner())


def with_posterior_gate() -> Language:
    nlp = tagger()
    nlp.add_pipe("longtail_posterior_gate", name="gate", config={"rare_labels": ["NAT"]})
    return nlp


def with_secondary() -> Language:
    nlp = tagger()
    nlp.add_pipe(
        "longtail_sentence_gate", name="gate", config={"model": GATE_MODEL, "rare_labels": ["NAT"]}
    )
    counted(nlp, "gate")
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config={"model": TOKEN_MODEL, "labels": ["NAT"]})
    return nlp


def with_rescue() -> Language:
    nlp = blank()
    for name in ("sentencizer", "test_gate"):
        nlp.add_pipe(name)
    config = {"pipe": {"factory": "test_secondary"}, "labels": ["VESSEL", "NAT"]}
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config=config)
    return nlp


def ensemble() -> Language:
    members = [tagger(), tagger()]
    for seed, nlp in enumerate(members):
        train(nlp, 20, seed=seed)
    first, other = members
    average([first, other], ["first", "other"])
    return first


def garden() -> Language:
    """What the README's commands train."""
    for block in SHELL_BLOCKS:
        for words in commands_of(block.text) if "tutorials/garden" in block.text else ():
            result = CliRunner().invoke(app, words[3:])
            assert result.exit_code == 0, result.output
    return spacy.load(GARDEN)


GARDEN = "training/garden/model-best"
DESCRIBED = {"@architectures": "longtail.DescribedTypes.v1", "tok2vec": SMALL, "width": 16}
MODELS = {
    "training/main/field_notes/baseline/model-best": stock,
    "training/main/field_notes/pretrained_cnn/model-best": tagger,
    "training/main/field_notes/gated_token/model-best": tagger,
    "training/main/field_notes/token_softmax/model-best": tagger,
    "training/main/field_notes/config/model-best": with_secondary,
    "training/described/model-best": lambda: tagger(model=DESCRIBED),
    "training/mine/model-best": with_posterior_gate,
    "training/model-best": stock,
    "my_pipeline": with_rescue,
    "training/ensemble": ensemble,
    GARDEN: garden,
}
TRAINED = (ensemble, garden)  # these builders train what they make
GLINER = "urchade/gliner_medium-v2.1"
LIISBET = "f20-ice-on-blades.txt"  # an article that docs/augmentation.md reads


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks")
    for name in ("configs", "assets", "recipes", "tutorials"):
        (path / name).symlink_to(ROOT / name)
    source = ROOT / "assets" / "field_notes"
    for file in [source / "corpus.json", *source.glob("*/*.txt")]:
        if file.name in ("corpus.json", LIISBET) or file.name[1:3] in ("05", "10"):  # a tenth
            copy = path / "field_notes" / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(file)
    convert_corpus(path / "field_notes", path / "corpus" / "field_notes")
    return path


def prepare(text: str) -> None:
    """What a page takes for granted."""
    for path, build in MODELS.items():
        if f'"{path}"' in text and not Path(path).exists():
            nlp = build()
            if build not in TRAINED:
                train(nlp, 20)
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            nlp.to_disk(path)
    if GLINER in text and not Path(GLINER).exists():
        Path(GLINER).parent.mkdir()
        Path(GLINER).symlink_to(shared_gliner())  # a folder comes before a name on the hub


def said_output(block: Block) -> str | None:
    """What the page says that a block prints."""
    if block.prints is not None:
        return block.prints
    comments = re.findall(r"^print\(.*\)  # ([\d\[].*)$", block.text, flags=re.MULTILINE)
    return "".join(f"{comment}\n" for comment in comments) or None


@pytest.mark.parametrize("page", RUN)
def test_a_page_that_loads_the_shipped_encoder_lets_spacy_find_it(page):
    code = "\n".join(block.text for block in BLOCKS if block.page == page)
    before, loads, _ = code.partition('spacy.load("en_longtail_cnn")')
    assert not loads or "import spacy_longtail" in before


@pytest.mark.parametrize(
    "page",  # the README's first needs the pipeline that its commands train
    [pytest.param(page, marks=[pytest.mark.slow] * (page == "README.md")) for page in RUN],
)
def test_the_python_of_a_page_runs(page, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    blocks = [block for block in PYTHON if block.page == page and not block.only_parsed]
    prepare("".join(block.text for block in blocks))
    names: dict = {"__name__": "__main__"}
    for block in blocks:
        capsys.readouterr()
        code = "\n" * block.line + block.text  # lines of tracebacks are those of the page
        exec(compile(code, str(ROOT / page), "exec"), names)
        if (said := said_output(block)) is not None:
            assert capsys.readouterr().out == said


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: f"{block.page}:{block.line}")
def test_python_parses_and_what_it_imports_is_there(block):
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("spacy_longtail"):
            exec(ast.unparse(node), {})


# Commands


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each simple command, without what a shell does with it."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        for part in re.split(r"\s(?:&&|\|\||\||;)\s|;\s", line):
            words = shlex.split(part, comments=True)
            while words and re.match(r"^(\w+=.*|do|done|for|then|if|while|in|nohup|time)$", words[0]):
                words = [] if words[0] in ("for", "done") else words[1:]
            yield [word for word in words if not re.match(r"^\d?>|^&$|^<", word)]


def check_parses(command: typer.Typer, words: list[str]) -> None:
    """Fails as the command would for options that it does not have, or arguments that it lacks."""
    group = typer.main.get_command(command)
    name, *given = itertools.dropwhile(lambda word: word.startswith("--"), words)
    while name in getattr(group, "commands", {}):
        group = group.commands[name]
        if getattr(group, "commands", None):
            name, *given = given
            continue
        try:
            group.make_context(name, list(given))
        except Exception as error:  # typer's classes of errors move between its versions
            if "does not exist" not in str(error):  # what other commands write
                raise
        return
    raise AssertionError(f"no command: {' '.join(words)}")


def syntax_error(text: str) -> str:
    return subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr


def test_bash_parses_the_blocks():
    """All in one process, since starting one takes longer than parsing."""
    whole = "".join(block.text for block in SHELL_BLOCKS)
    assert not syntax_error(whole), {f"{b.page}:{b.line}": syntax_error(b.text) for b in SHELL_BLOCKS}


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_commands_parse(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in commands_of(block.text):
        program = " ".join(words[:3])
        if program.startswith("python -m spacy_longtail"):
            check_parses(app, words[3:])
        elif program.startswith(("python -m spacy ", "spacy ")):
            check_parses(spacy_app, words[1:] if words[0] == "spacy" else words[3:])
        elif words[:1] == ["python"] and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file()


def test_the_commands_with_config_values_are_named():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf8")
    commands = typer.main.get_command(app).commands.items()
    names = {name for name, c in commands if any("--set" in p.opts for p in c.params)}
    with_config = sorted(names - {"pretrain"})
    assert f"| {', '.join(f'`{name}`' for name in with_config)} | after `--set`" in page


@pytest.mark.slow
def test_the_way_from_an_export_to_a_model_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.setenv("SPACY_CONFIG_OVERRIDES", "--training.max_steps 2 --training.eval_frequency 2")
    spans = [
        [{"start": e.start_char, "end": e.end_char, "label": e.label_} for e in doc.ents]
        for doc in numbered(40)
    ]
    rows = ({"text": doc.text, "spans": own} for doc, own in zip(numbered(40), spans, strict=True))
    srsly.write_jsonl("export.jsonl", rows)
    blocks = [b for b in SHELL_BLOCKS if b.page == "docs/start.md" and "corpus/mine" in b.text]
    ran = []
    for words in (words for block in blocks for words in commands_of(block.text)):
        if words[:3] != ["python", "-m", "spacy_longtail"]:
            continue  # of pip, of the shell, of spaCy
        ran.append(words[3])
        if words[3] == "recommend":  # takes its half an hour
            check_parses(app, words[3:])
            Path("training/recommend").mkdir(parents=True)
            shutil.copy(ROOT / "configs" / "baseline.cfg", "training/recommend/recommended.cfg")
            continue
        result = CliRunner().invoke(app, words[3:])
        assert result.exit_code == 0 and "Traceback" not in result.output, result.output
    assert ran[:5] == ["convert", "split", "stats", "recommend", "train"]
    assert ran[5:] == ["train", "train", "stats", "evaluate", "evaluate", "evaluate"]
    assert all(Path("training", name, "model-best").is_dir() for name in ("mine", "ours", "stock"))
    assert Path("report.html").is_file()
