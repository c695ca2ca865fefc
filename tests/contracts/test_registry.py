"""What setup.cfg publishes exists, has every argument documented, and is in the docs' table."""

import configparser
import doctest
import inspect
import re
from importlib import import_module

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import registry

from spacy_longtail.cli import app
from spacy_longtail.errors import Errors, Warnings
from tests.util import ROOT, run_python

COMMANDS = ("console_scripts", "spacy_cli")  # no registered functions


def published():
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.optionxform = str
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    for group, lines in parser["options.entry_points"].items():
        if group in COMMANDS:
            continue
        for line in lines.strip().splitlines():
            name, target = (part.strip() for part in line.split("="))
            yield pytest.param(group, name, target, id=name)


ENTRIES = list(published())
CITATION = re.compile(r'docs/methods\.md,\s+(?:# )?"([^"]+)"')


def target_of(target):
    module, name = target.split(":")
    if module.endswith(".chat_completions"):
        pytest.importorskip("spacy_llm", reason="needs the extra 'llm'")
    return getattr(import_module(module), name)


@pytest.mark.parametrize(("group", "name", "target"), ENTRIES)
def test_published_names_resolve(group, name, target):
    found = target_of(target)
    spacy.blank("en")  # what loads the factories, and with spacy-llm's its registries
    space = group.removeprefix("spacy_").removeprefix("thinc_")
    if space == "factories":
        assert Language.has_factory(name) and "." not in name
    else:
        assert re.fullmatch(r"longtail\.\w+\.v\d+", name)
        assert getattr(registry, space).get(name) is found


@pytest.mark.parametrize(("group", "name", "target"), ENTRIES)
def test_docstrings_cover_every_argument(group, name, target):
    found = target_of(target)
    text = inspect.getdoc(found) or ""
    assert len(text.splitlines()[0]) > 20
    skipped = {"nlp", "name", "self"}
    for argument in inspect.signature(found).parameters:
        if argument not in skipped:
            assert re.search(rf"\b{argument}\b", text), f"{name}: {argument} is not documented"


def corpus_of_the_examples():
    """The names that the second block of docs/registered.md defines for the examples."""
    page = (ROOT / "docs" / "registered.md").read_text(encoding="utf8")
    names = {}
    exec(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1], names)
    return names


WITH_EXAMPLES = (
    "spacy_longtail.augment",
    "spacy_longtail.corpus",
    "spacy_longtail.losses",
    "spacy_longtail.readers",
    "spacy_longtail.scorers",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("group", "name", "target"), ENTRIES)
def test_the_example_of_a_docstring_runs(group, name, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(target_of(target)) or ""
    examples = doctest.DocTestParser().get_doctest(text, corpus_of_the_examples(), name, None, 0)
    said = []

    result = doctest.DocTestRunner().run(examples, out=said.append)

    assert result.failed == 0, "".join(said)
    assert result.attempted >= 1 or not target.startswith(WITH_EXAMPLES), "it has no EXAMPLE"


def test_names_are_published_once_and_errors_used_and_unique():
    names = [entry.values[1] for entry in ENTRIES]
    assert len(names) == len(set(names))
    code = "".join(p.read_text(encoding="utf8") for p in (ROOT / "components").rglob("*.py"))
    for kind in (Errors, Warnings):
        messages = {name: text for name, text in vars(kind).items() if re.fullmatch(r"[LW]\d+", name)}
        assert messages
        for name, text in messages.items():
            assert re.match(rf"\[L?{name}\] ", text), name
            assert re.search(rf"(Errors|Warnings)\.{name}\b", code), name


def test_no_error_is_a_mere_frame_for_what_its_caller_says():
    """L401 is the frame of all importers, which name file, line, fault and fix."""
    texts = {n: text for n, text in vars(Errors).items() if re.fullmatch(r"L\d+", n)}
    own = {n: re.sub(r"\{.*?\}|\[L\d+\]", "", text) for n, text in texts.items()}
    assert {n for n, text in own.items() if not re.search("[A-Za-z]{2,}", text)} == {"L401"}
    assert not [n for n, text in own.items() if "what it names" in text]


DESCRIBERS = sorted(entry.values[1] for entry in ENTRIES if "Descriptions" in entry.values[1])
DESCRIBER_SETTINGS = {"longtail.SubwordDescriptions.v1": {"source": "en_longtail_cnn"}}


@pytest.mark.parametrize("name", DESCRIBERS)
def test_every_describer_gives_a_row_of_unit_length_to_each_text(name):
    settings = DESCRIBER_SETTINGS.get(name, {})
    describe = registry.resolve({"describe": {"@misc": name, **settings}})["describe"]
    texts = ["Oslo", "the night", "Oslo", "Rome sent help"]
    rows = describe(texts)
    assert rows.shape[0] == 4 and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-4)
    assert rows[0] == pytest.approx(rows[2], abs=1e-5) and abs(rows[0] - rows[1]).max() > 1e-3
    assert describe(texts[1:])[0] == pytest.approx(rows[1], abs=1e-4)  # whatever else there is


@pytest.mark.slow
def test_the_light_core_imports_nothing_heavy():
    code = (
        "import sys, spacy, spacy_longtail, spacy_longtail.pipes.gate.sentence_gate, spacy_longtail.pipes.secondary.gated_ner\n"
        "import spacy_longtail.pipes.secondary.gated_pipe\n"
        "import spacy_longtail.readers, spacy_longtail.scorers, spacy_longtail.cli\n"
        "import spacy_longtail.pipes.gliner_ner\n"
        "heavy = {'matplotlib', 'spacy_llm', 'gliner', 'transformers', 'spacy_transformers', 'pandas', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    run_python(code)


def test_every_feature_has_its_mark():
    """docs/architecture.md: what no paper, record or need asks for leaves."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| (`.*?) \| (mission|record|needed) \| (.+) \|$", page, flags=re.MULTILINE)
    named = {name for cell, _, _ in rows for name in re.findall(r"`([^`]+)`", cell)}
    commands = {info.name or info.callback.__name__ for info in app.registered_commands}
    assert named == {*commands, *(entry.values[1] for entry in ENTRIES)}
    records = {
        name for _, mark, why in rows if mark == "record" for name in re.findall(r"\w+\.jsonl", why)
    }
    assert all((ROOT / "benchmarks" / "results" / name).is_file() for name in records)


def test_cited_sections_of_the_methods_exist():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf8")
    titles = set(re.findall(r"^#+ (.+)$", page, re.MULTILINE))
    files = [*(ROOT / "components").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    cited = {" ".join(t.split()) for f in files for t in CITATION.findall(f.read_text(encoding="utf8"))}
    assert len(cited) > 10
    assert cited <= titles


@pytest.mark.parametrize(("group", "name", "target"), ENTRIES)
def test_an_unknown_setting_is_an_error_in_python_as_in_a_config(group, name, target):
    given = (spacy.blank("en"), "pipe") if group == "spacy_factories" else ()
    with pytest.raises((TypeError, ValueError), match=r"(?i)unexpected keyword"):
        target_of(target)(*given, no_such_setting=1)
