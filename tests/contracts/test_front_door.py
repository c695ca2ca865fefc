"""README.md, the picture and the pages that are generated: true, short and reachable."""

import re
import sys
from configparser import ConfigParser

import pytest
import typer
from packaging.requirements import Requirement

import spacy_longtail
from spacy_longtail.cli import app
from spacy_longtail.encoders import located
from spacy_longtail.errors import Errors, Warnings
from tests.util import ROOT, run_spacy

README = (ROOT / "README.md").read_text(encoding="utf8")
FRONT = README[: README.index("<!-- WEASEL")]
COMMANDS = {info.name or info.callback.__name__ for info in app.registered_commands}
sys.path.insert(0, str(ROOT / "scripts"))


def test_every_figure_of_a_page_is_put_in():
    """A template of scripts/pages/ names figures as {{rare.ours}}; none may stay in the page."""
    for template in (ROOT / "scripts" / "pages").glob("*.md"):
        page = ROOT / template.name if template.name == "README.md" else ROOT / "docs" / template.name
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf8"), flags=re.M | re.S)
        assert not re.findall(r"\{[\w., +-]+\}", re.sub(r"`[^`]*`", "", prose)), page


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


def test_types_that_no_donor_names_are_not_on_the_card():
    from pages.figures import rare_types

    card = located("en_longtail_cnn/README.md").read_text(encoding="utf8")
    donors = " ".join(line for line in card.splitlines() if line.startswith("| ")).casefold()
    unnamed = [t.name for t in rare_types() if t.overlap != "name"]
    assert len(unnamed) == 7  # README says so in a word
    assert not [name for name in unnamed if re.search(rf"[,|] *{name} *[,|]", donors)]


def test_a_figure_without_a_record_is_refused():
    from pages.figures import fill

    assert fill("{{rare.n}} types") == "27 types"
    with pytest.raises(KeyError, match=r"rare\.nothing"):
        fill("{{rare.nothing}}")


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
        options = [p for p in options if p.param_type_name == "option"]
        for option in options:  # hidden ones have no effect any more
            assert (max(option.opts, key=len) in text) != option.hidden, (name, option.name)


def test_the_codes_that_pages_name_exist_and_are_on_their_page():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf8")
    messages = [text for kind in (Errors, Warnings) for text in vars(kind).values()]
    codes = [text[1 : text.index("]")] for text in messages if str(text).startswith("[L")]
    pages = [p for p in (ROOT / "docs").glob("[a-z]*.md") if p.name != "errors.md"]
    named = set(re.findall(r"\bLW?\d{3}\b", "".join(p.read_text(encoding="utf8") for p in pages)))
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
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "recipes").glob("*.md"),
        ROOT / "tutorials" / "README.md",
    ]
    for page in pages:
        text = re.sub(
            r"^```.*?^```$", "", page.read_text(encoding="utf8"), flags=re.MULTILINE | re.DOTALL
        )
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
