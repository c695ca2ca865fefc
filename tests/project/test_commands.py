"""project.yml and benchmarks/: what they list is there, and the docs run no other command."""

import re
from runpy import run_path

import pytest
import srsly

from spacy_longtail.studies.configs.recipes import FILES, read_recipes
from spacy_longtail.studies.trials.plan import list_presets
from tests.util import ROOT

PROJECT = srsly.read_yaml(ROOT / "project.yml")
COMMANDS = {command["name"]: command for command in PROJECT["commands"]}
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "configs").rglob("*.cfg"))]
RUN = re.compile(r"weasel run (\w+)([^`\n#;]*)")

WITHOUT_DOT = " --vars.seed 1"  # which docs/project.md warns of


def test_workflows_consist_of_commands():
    assert len(COMMANDS) == len(PROJECT["commands"])  # each name once
    steps = {step for steps in PROJECT["workflows"].values() for step in steps}
    assert steps <= set(COMMANDS)
    assert not set(PROJECT["workflows"]) & set(COMMANDS)


def test_commands_in_pages_and_configs_exist():
    found = [(page.name, *run) for page in PAGES for run in RUN.findall(page.read_text(encoding="utf8"))]
    assert len(found) > len(FILES)
    for page, name, rest in found:
        assert name in {*COMMANDS, *PROJECT["workflows"]}, page
        variables = re.findall(r"--vars\.(\w+)", rest)
        assert set(variables) <= set(PROJECT["vars"]), page
        assert not variables or rest.startswith(" . ") or rest == WITHOUT_DOT, page
        assert set(re.findall(r"--vars\.recipe (\w+)", rest)) <= {"NAME", *read_recipes()}, page


@pytest.mark.parametrize("name", FILES)
def test_a_command_trains_every_config_and_its_first_lines_say_which(name):
    text = (ROOT / "configs" / f"{name}.cfg").read_text(encoding="utf8")
    ((command, rest),) = RUN.findall(text)
    if command == "recipe":
        assert name not in COMMANDS
        assert f"--vars.recipe {name}" in rest
        given = dict(re.findall(r"--paths\.(\w+) (\S+)", text.split("weasel run ")[0]))
        own = {path: value for path, value in given.items() if path not in ("train", "dev")}
        assert dict(re.findall(r"--vars\.(\w+) (\S+)", rest)) == {"recipe": name, **own}
        for path in own:
            assert f" --paths.{path} ${{vars.{path}}}" in " ".join(COMMANDS["recipe"]["script"])
    else:
        assert command == name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_depends_on_files_of_the_project(name):
    """A module that is not there any more would never make a step run again."""
    own = [
        dep
        for dep in COMMANDS[name].get("deps", [])
        if dep.split("/")[0] in ("components", "configs", "scripts")
    ]
    for dep in own:
        assert (ROOT / dep).exists(), dep
    scripts = " ".join(COMMANDS[name]["script"])
    if "spacy_longtail train" in scripts:
        assert "components/spacy_longtail/training/train.py" in own
        config = re.search(r"train (\S+\.cfg)", scripts)[1]
        assert config in own or f"init-config ${{vars.recipe}} -o {config}" in scripts
    if "spacy_longtail evaluate training" in scripts:
        assert "components/spacy_longtail/evaluation/evaluate.py" in own


# benchmarks/

MATRIX = re.compile(r"^python -m spacy_longtail matrix (\S+) (corpus/\S+) -o \S+", re.MULTILINE)


def test_the_documents_name_plans_that_are_there():
    pages = [ROOT / "README.md", *(ROOT / "benchmarks").glob("*.md"), *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf8") for page in pages)
    named = set(re.findall(r"\bbenchmarks/(\w+\.(?:json|yml))\b", text))
    assert named <= {path.name for path in (ROOT / "benchmarks").glob("*.yml")} and len(named) >= 5
    commands = MATRIX.findall(text)
    assert len(commands) >= 6
    for plan, _ in commands:
        assert plan in list_presets() or (ROOT / plan).is_file()


def test_mutation_knows_its_tests():
    mutation = run_path(str(ROOT / "benchmarks" / "mutation.py"))
    for pattern, files in mutation["TESTS"].values():
        assert list(mutation["PACKAGE"].glob(pattern))
        assert all((ROOT / "tests" / file).is_file() for file in files)
