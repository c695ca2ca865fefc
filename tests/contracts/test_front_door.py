"""README.md, the picture, the site and the pages that are generated: true, short and reachable."""

import re
import sys
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev

import pytest
import srsly
import typer
from packaging.requirements import Requirement

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


# rare types of CrossNER whose names no donor declares
UNKNOWN = {
    "academicjournal",
    "conference",
    "discipline",
    "enzyme",
    "magazine",
    "musicalinstrument",
    "theory",
}


def words_of(markdown: str) -> list[str]:
    """The words that are read: no code blocks, comments or targets of links."""
    text = re.sub(
        r"^```.*?^```$|<!--.*?-->|</?\w[^>]*>|\]\([^)]*\)", " ", markdown, flags=re.MULTILINE | re.DOTALL
    )
    return [word for word in text.split() if re.search(r"\w", word)]


def test_the_readme_is_short():
    assert len(words_of(FRONT)) <= 600


def pinned(name: str, python: str) -> dict[str, str]:
    """Versions by name that a list of requirements has for a version of Python, on Linux."""
    text = (ROOT / name).read_text(encoding="utf8")
    lines = [line.rstrip(" \\") for line in text.splitlines() if re.match(r"[a-z]", line)]
    found = [Requirement(line) for line in lines]
    place = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    place |= {"platform_machine": "x86_64"}
    return {r.name: str(r.specifier) for r in found if not r.marker or r.marker.evaluate(place)}


@pytest.mark.parametrize("python", ["3.10", "3.13"])
def test_hashes_are_of_the_pinned_versions(python):
    constraints, hashed = pinned("constraints.txt", python), pinned("requirements-hashed.txt", python)
    assert {n: v for n, v in constraints.items() if n in hashed} == {
        n: v for n, v in hashed.items() if n in constraints
    }
    own = ConfigParser()
    own.read(ROOT / "setup.cfg")
    extras = [own["options.extras_require"][name] for name in ("report", "tune")]
    wanted = "".join([own["options"]["install_requires"], *extras]).split()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(hashed[requirement.name].removeprefix("=="))


def test_the_claim_of_the_readme_is_that_of_the_records():
    import picture

    types = picture.read_types()
    stock, ours = (sum(score) / len(types) for score in zip(*((t.stock, t.ours) for t in types)))
    said = " ".join(FRONT.split())
    assert f"**{stock:.1f} with stock spaCy and {ours:.1f} with this package**" in said
    assert all(t.ours > t.stock for t in types) and f"higher for all {len(types)}" in said
    assert f"{len(types)} types have at most {max(t.number for t in types)} training examples" in said
    own = [t for t in types if t.name.split(",")[0] in UNKNOWN]
    stock, ours = (sum(score) / len(own) for score in zip(*((t.stock, t.ours) for t in own)))
    assert len(own) == 7  # in words
    assert f"Seven of them have names that no corpus of ours declares ({stock:.1f}, {ours:.1f})" in said
    card = located("en_longtail_cnn/README.md").read_text(encoding="utf8")
    donors = " ".join(line for line in card.splitlines() if line.startswith("| ")).casefold()
    for name in {t.name.split(",")[0] for t in own}:
        assert not re.search(rf"[,|] *{name} *[,|]", donors), name


def test_the_table_of_the_readme_is_that_of_the_records():
    trials = list(srsly.read_jsonl(ROOT / "benchmarks" / "results" / "knowledge.jsonl"))
    page = (ROOT / "benchmarks" / "REPORT.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| (\w+): \d+, (\d+) \|(.*)$", FRONT, flags=re.MULTILINE)
    assert len(rows) == 5
    for name, n_types, cells in rows:
        found = [t for t in trials if t["corpus"] == f"crossner_{name.lower()}"]
        assert len(found[0]["test"]["ents_per_type"]) == int(n_types)
        for method, cell in zip(("ner", "pretrained"), cells.split("|"), strict=False):
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
        for method in ("ner", "pretrained")
    ]
    stock, ours = by_method
    assert sorted(stock) == sorted(ours) == [0, 1, 2, 3, 4]
    found = [ours[seed] - stock[seed] for seed in stock]
    half = 2.7764 * stdev(found) / 5**0.5  # of Student's t with four degrees of freedom
    return f"+{mean(found):.1f} ({mean(found) - half:.1f} to {mean(found) + half:.1f})"


# The commands


def test_spacy_has_the_commands_as_one_of_its_own():
    import spacy_longtail.spacy_command  # noqa: F401  # as spaCy does by its entry point

    shown = run_spacy("longtail", "--help")
    assert "spacy longtail" in shown and set(re.findall(r"[\w-]+", shown)) >= COMMANDS
    assert "spacy longtail split" in run_spacy("longtail", "split", "--help")


def test_every_command_and_option_is_on_its_page():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf8")
    parts = re.split(r"^### (\S+)$", page, flags=re.MULTILINE)
    assert set(parts[1::2]) == COMMANDS
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        options = [p for p in typer.main.get_command(app).commands[name].params if p.name != "help"]
        longest = {max(p.opts, key=len) for p in options if p.param_type_name == "option"}
        assert not {option for option in longest if option not in text}, name


def test_the_codes_that_pages_name_exist_and_are_on_their_page():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf8")
    messages = [text for kind in (Errors, Warnings) for text in vars(kind).values()]
    codes = [text[1 : text.index("]")] for text in messages if str(text).startswith("[L")]
    texts = "".join(p.read_text(encoding="utf8") for p in (ROOT / "docs").glob("[a-z]*.md"))
    named = set(re.findall(r"\bLW?\d{3}\b", texts))
    assert named <= set(codes)
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
