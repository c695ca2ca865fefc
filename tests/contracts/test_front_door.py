"""README.md, the picture, the site and the pages that are generated: true, short and reachable."""

import re
import sys
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev
from types import SimpleNamespace

import pytest
import srsly
import typer
from packaging.requirements import Requirement
from typer.testing import CliRunner

import spacy_longtail
from spacy_longtail.cli import app
from spacy_longtail.encoders import located
from spacy_longtail.errors import Errors, Warnings
from tests.util import run_spacy

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf8")
FRONT = README[: README.index("<!-- WEASEL")]
COMMANDS = {info.name or info.callback.__name__ for info in app.registered_commands}
sys.path.insert(0, str(ROOT / "scripts"))


# rare types of CrossNER that a donor has, too, by that name or as "other name"
KNOWN = ("person", "location", "organisation", "event", "misc")


def words_of(markdown: str) -> list[str]:
    """The words that are read: no code blocks, comments or targets of links."""
    text = re.sub(
        r"^```.*?^```$|<!--.*?-->|</?\w[^>]*>|\]\([^)]*\)", " ", markdown, flags=re.MULTILINE | re.DOTALL
    )
    return [word for word in text.split() if re.search(r"\w", word)]


def test_the_readme_is_short():
    assert len(words_of(FRONT)) <= 600


def test_the_readme_keeps_the_two_commands_in_bash_blocks_of_their_own():
    assert re.findall(r"^```bash\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL) == [
        'pip install -c constraints.txt ".[report]" && weasel run all\n',
        'pip install -c constraints.txt ".[test]" && pytest -n auto --dist loadfile\n',
    ]


def pinned(name: str, python: str) -> dict[str, str]:
    """Versions by name that a list of requirements has for a version of Python, on Linux."""
    text = (ROOT / name).read_text(encoding="utf8")
    lines = [line.rstrip(" \\") for line in text.splitlines() if re.match(r"[a-z]", line)]
    found = [Requirement(line) for line in lines]
    place = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    place |= {"platform_machine": "x86_64"}
    return {r.name: str(r.specifier) for r in found if not r.marker or r.marker.evaluate(place)}


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_hashes_are_of_the_pinned_versions(python):
    constraints, hashed = pinned("constraints.txt", python), pinned("requirements-hashed.txt", python)
    assert {n: v for n, v in constraints.items() if n in hashed} == {
        n: v for n, v in hashed.items() if n in constraints
    }
    own = ConfigParser()
    own.read(ROOT / "setup.cfg")
    extras = [own["options.extras_require"][name] for name in ("lookups", "report", "tune")]
    wanted = "".join([own["options"]["install_requires"], *extras]).split()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(hashed[requirement.name].removeprefix("=="))


def test_every_requirement_has_hashes():
    text = (ROOT / "requirements-hashed.txt").read_text(encoding="utf8")
    blocks = re.split(r"\n(?=[a-z])", text[text.index("\n") :])[1:]
    assert len(blocks) > 60
    for block in blocks:
        first, *hashes = block.replace("\\\n", "\n").strip().split("\n")
        assert hashes, first
        assert all(re.fullmatch(r" +--hash=sha256:[0-9a-f]{64} *", line) for line in hashes), first


def test_the_claim_of_the_readme_is_that_of_the_records():
    import picture

    types = picture.read_types()
    stock, ours = (sum(score) / len(types) for score in zip(*((t.stock, t.ours) for t in types)))
    said = " ".join(FRONT.split())
    assert f"**{stock:.1f} with stock spaCy and {ours:.1f} with this package**" in said
    higher = sum(t.ours > t.stock for t in types)
    assert f"higher for {higher} of the {len(types)}" in said
    assert f"{len(types)} types have at most {max(t.number for t in types)} training examples" in said
    own = [t for t in types if t.name.split(",")[0] not in KNOWN]
    stock, ours = (sum(score) / len(own) for score in zip(*((t.stock, t.ours) for t in own)))
    assert (
        f"for the {len(own)} whose names our other corpora do not have ({stock:.1f}, {ours:.1f})" in said
    )
    card = located("en_longtail_cnn/README.md").read_text(encoding="utf8")
    donors = " ".join(line for line in card.splitlines() if line.startswith("| ")).casefold()
    for name in {t.name.split(",")[0] for t in own}:
        assert not re.search(rf"[,|] *{name} *[,|]", donors), name


def test_the_rare_types_of_the_picture_are_those_that_were_scored_as_tail():
    import picture

    trials = list(srsly.read_jsonl(picture.SCORES))
    for corpus in srsly.read_jsonl(picture.MENTIONS):
        assert {n for t, n in corpus["mentions"].items() if t in corpus["tail"]} <= set(range(31))
        assert all(n > 30 for t, n in corpus["mentions"].items() if t not in corpus["tail"])
        for trial in (t for t in trials if t["corpus"] == corpus["corpus"]):
            scores = trial["test"]["ents_per_type"]
            assert set(scores) == set(corpus["mentions"])
            mean = sum(scores[label]["f"] for label in corpus["tail"]) / len(corpus["tail"])
            assert mean == pytest.approx(trial["test"]["ents_tail_f"], abs=1e-6)


def test_the_table_of_the_readme_is_that_of_the_records():
    trials = list(srsly.read_jsonl(ROOT / "benchmarks" / "results" / "knowledge.jsonl"))
    page = (ROOT / "benchmarks" / "REPORT.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| (\w+): \d+, (\d+) \|(.*)$", FRONT, flags=re.MULTILINE)
    assert len(rows) == 5
    for name, n_types, cells in rows:
        found = [t for t in trials if t["corpus"] == f"crossner_{name.lower()}"]
        assert len(found[0]["test"]["ents_per_type"]) == int(n_types)
        for method, cell in zip(("ner", "crf-pretrained-described"), cells.split("|"), strict=False):
            tests = [t["test"] for t in found if t["method"] == method]
            means = [sum(t[f"ents_{key}_f"] for t in tests) / len(tests) for key in ("macro", "tail")]
            assert cell.strip(" *") == " / ".join(f"{100 * mean:.1f}" for mean in means)
        shown = [cell.strip() for cell in cells.split("|")[2:4]]
        assert shown == [over_seeds(found, key) for key in ("macro", "tail")]
        macro, tail = map(re.escape, shown)
        assert re.search(rf"\| {name} \| {macro}, p . 0\.\d+ \| {tail}, p . 0\.\d+ \|", page)


def over_seeds(trials, key):
    """The mean difference of five seeds, and the interval of a paired t-test."""
    by_method = [
        {t["seed"]: 100 * t["test"][f"ents_{key}_f"] for t in trials if t["method"] == method}
        for method in ("ner", "crf-pretrained-described")
    ]
    stock, ours = by_method
    assert sorted(stock) == sorted(ours) == [0, 1, 2, 3, 4]
    found = [ours[seed] - stock[seed] for seed in stock]
    half = 2.7764 * stdev(found) / 5**0.5  # of Student's t with four degrees of freedom
    return f"+{mean(found):.1f} ({mean(found) - half:.1f} to {mean(found) + half:.1f})"


def test_the_picture_follows_the_scheme_of_the_reader_and_loads_nothing():
    import picture

    drawn = picture.render()
    assert "prefers-color-scheme: dark" in drawn and "<title" in drawn
    assert not re.search(r"href|url\(|@import|<script", drawn)
    assert drawn.count('class="ours"') == len(picture.read_types()) + 1  # and the key


def test_the_results_fit_a_reading_of_ten_minutes_and_have_all_their_tables():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf8")
    assert len(text.split()) <= 3000
    assert "{" not in text and text.count("| ---") >= 7
    assert re.search(r"^\|  \| pretrained \| 5 \| 46\.8 ", text, flags=re.MULTILINE)


# The commands


def test_help_groups_every_command():
    assert all(info.rich_help_panel for info in app.registered_commands)
    text = CliRunner().invoke(app, ["--help"]).output
    assert {info.rich_help_panel for info in app.registered_commands} <= set(
        re.findall(r"─ (\w.*?) ─", text)
    )


def test_spacy_has_the_commands_as_one_of_its_own():
    import spacy_longtail.spacy_command  # noqa: F401  # as spaCy does by its entry point

    shown = run_spacy("longtail", "--help")
    assert "spacy longtail" in shown and set(re.findall(r"[\w-]+", shown)) >= COMMANDS
    assert "spacy longtail split" in run_spacy("longtail", "split", "--help")


def test_every_command_is_on_its_page():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf8")
    assert set(re.findall(r"^### (\S+)$", page, flags=re.MULTILINE)) == COMMANDS


def test_options_and_defaults_are_those_that_the_commands_take():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf8")
    parts = re.split(r"^### (\S+)$", page, flags=re.MULTILINE)
    row = re.compile(r"^\| `(-[^`]*|[A-Z_]+)[^`]*` \| ([^|]*) \|", flags=re.MULTILINE)
    shared = {re.sub(r" [A-Z/a-z]+$", "", option): value for option, value in row.findall(parts[0])}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        command = typer.main.get_command(app).commands[name]
        also = re.findall(r"`([^`]+)`", text.partition("\n\nAlso: ")[2].partition("\n")[0])
        rows = {**dict(row.findall(text)), **{option: shared[option] for option in also}}
        shown = {option for row in rows for option in re.findall(r"(?<!\S)--?[\w-]+", row)}
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        assert shown == {o for p in options for o in (*p.opts, *p.secondary_opts)}, name
        for parameter in command.params:
            default = getattr(parameter.default, "value", parameter.default)
            if default not in (None, False, (), []) and not parameter.required:
                assert f"`{default}`" in rows.values(), f"{name}: {parameter.name}"
        n_required = sum(default == "required" for default in rows.values())
        assert n_required == sum(p.required for p in command.params), name


def test_the_codes_that_pages_name_exist_and_are_on_their_page():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf8")
    messages = [text for kind in (Errors, Warnings) for text in vars(kind).values()]
    codes = [text[1 : text.index("]")] for text in messages if str(text).startswith("[L")]
    texts = "".join(p.read_text(encoding="utf8") for p in (ROOT / "docs").glob("*.md"))
    named = set(re.findall(r"\bLW?\d{3}\b", texts))
    assert named <= {*codes, "L102"}  # an example
    assert re.findall(r'<a id="(\w+)">', page) == [code for code in codes if code in named]


# What is read by others


def test_one_version_everywhere():
    version = spacy_longtail.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
    assert re.search(r"^## (\S+)", changes, flags=re.MULTILINE)[1] == version


def test_links_between_pages_lead_somewhere():
    """As GitHub shows them; the site has its own check."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
    pages += [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "recipes").glob("*.md"),
        ROOT / "tutorials" / "README.md",
    ]
    for page in pages:
        text = re.sub(
            r"^```.*?^```$", "", page.read_text(encoding="utf8"), flags=re.MULTILINE | re.DOTALL
        )
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


# The site: without a build, which takes seconds and is a step of .ci/run


@pytest.fixture
def hooks(monkeypatch):
    for name in ("mkdocs", "latex2mathml"):
        pytest.importorskip(name, reason="needs the extra 'docs'")
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    return import_module("hooks")


def test_the_site_has_every_page(hooks):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf8")
    named = set(re.findall(r"[\w/]+\.md", text[text.index("\nnav:") :]))
    own = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}  # it is questions.md
    assert named == own | set(hooks.PAGES.values())


PAGE = """See [it](../README.md#try-it) and [them](matrix.md), $`a_1 * b_1 * c`$.

```math
x^2 \\tag{G1}
```

```bash
echo "$`a`$ [x](../README.md)"
```
"""


def test_links_and_formulas_of_a_page_become_those_of_the_site(hooks):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="gate.md"), meta={})
    text = hooks.on_page_markdown(PAGE, page, None, None)
    assert text.startswith("See [it](index.md#try-it) and [them](matrix.md), FORMULA1X.\n\nFORMULA0X\n")
    assert text.endswith(PAGE[PAGE.index("```bash") :])
    html = hooks.on_page_content(text, page, None, None)
    assert html.count("<math") == 2 and 'display="block"' in html
    assert "<mtext>G1</mtext>" in html and "FORMULA" not in html
    page.file.src_uri = "index.md"
    shown = hooks.on_page_markdown(
        "[a](docs/gate.md) [b](project.yml) [c](https://x.org/a.md)", page, None, None
    )
    assert shown == "[a](gate.md) [b](files/project.yml) [c](https://x.org/a.md)"


def test_docstrings_become_lists(monkeypatch):
    pytest.importorskip("griffe", reason="needs the extra 'docs'")
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    text = "Do it.\n\nnlp (Language): A pipeline,\n    changed.\na, b (int): Two.\nRETURNS (str): Text.\n\nMore."
    assert import_module("docstrings").as_markdown(text) == (
        "Do it.\n\n- `nlp` (Language): A pipeline,\n    changed.\n- `a, b` (int): Two.\n"
        "- **RETURNS** (str): Text.\n\nMore."
    )
