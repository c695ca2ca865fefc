"""The project as a newcomer runs it: the smoke workflow, and spaCy's commands on our configs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.util import ROOT, config_file, run_python, run_spacy

WRITTEN = ("corpus", "training", "metrics", "report", "packages")
SMOKE = ["--vars.run", "smoke", "--vars.max_steps", 6, "--vars.patience", 0, "--vars.eval_frequency", 6]
pytestmark = pytest.mark.slow


def run(*arguments, cwd, **environment):
    command = [sys.executable, "-m", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def not_the_project(folder, names):
    """What runs and tools write into a clone, virtual environments included."""
    tools = shutil.ignore_patterns(".git", "__pycache__", "build", "*.egg-info", ".*_cache")
    venvs = {name for name in names if (Path(folder) / name / "pyvenv.cfg").is_file()}
    written = set(WRITTEN) if Path(folder) == ROOT else set()  # a package may be called like a folder
    return tools(folder, names) | venvs | written


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, light):
    """A copy of the project's files after `weasel run smoke`, and what that printed."""
    folder = tmp_path_factory.mktemp("project") / "clone"
    shutil.copytree(ROOT, folder, ignore=not_the_project)
    for name in os.listdir(folder / "assets"):
        if (folder / "assets" / name).is_dir() and name not in ("field_notes", "encoders"):
            shutil.rmtree(folder / "assets" / name)
    return folder, run("weasel", "run", "smoke", ".", cwd=folder, **light)


@pytest.fixture
def project(smoke):
    """The folder of the project."""
    return smoke[0]


def test_smoke_writes_everything_and_says_where(smoke):
    folder, output = smoke
    report = folder / "report" / "smoke" / "field_notes.html"
    assert report.is_file()
    assert f"Report: {report.resolve()}" in output
    assert "Package:" in output
    names = {path.stem for path in (folder / "metrics" / "smoke" / "field_notes").glob("*.json")}
    assert {"stats", "baseline", "pretrained_cnn", "config"} <= names
    for label in ("PER", "NAT", "macro", "micro", "tail"):
        assert label in output


def test_a_second_run_skips_what_is_done(project, light):
    assert "Skipping" in run("weasel", "run", "baseline", ".", *SMOKE, cwd=project, **light)


def test_the_package_installs_and_loads_by_name(project, tmp_path, monkeypatch):
    record = project / "packages" / "smoke" / "field_notes" / "package.json"
    archive = json.loads(record.read_text(encoding="utf8"))["package"]
    shutil.unpack_archive(project / archive, tmp_path)
    (unpacked,) = tmp_path.iterdir()
    code = "import spacy; nlp = spacy.load('en_longtail_field_notes'); print(nlp('Ana left.').text)"
    monkeypatch.chdir(tmp_path)
    assert "Ana left." in run_python(code, PYTHONPATH=str(unpacked))
    card = unpacked.joinpath("README.md").read_text(encoding="utf8")
    assert "## Limits" in card
    assert "| ART ◆ |" in card
    meta = next(unpacked.rglob("meta.json"))
    assert json.loads(meta.read_text(encoding="utf8"))["spacy_longtail"]["corpus"] == "field_notes"
    assert any(
        "spacy-longtail" in r or "spacy_longtail" in r
        for r in json.loads(meta.read_text())["requirements"]
    )


def test_a_recipe_takes_its_vectors_from_a_variable(project, tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("2 3\nthe 0.1 0.2 0.3\nship 0.3 0.2 0.1\n", encoding="utf8")
    settings = ["--vars.run", "smoke", "--vars.max_steps", 2, "--vars.eval_frequency", 2]
    run_spacy("init", "vectors", "en", file, project / "vectors" / "field_notes")
    settings += ["--vars.vectors", "vectors/field_notes"]
    run("weasel", "run", "recipe", ".", "--vars.recipe", "shallow_softmax", *settings, cwd=project)
    found = project / "metrics" / "smoke" / "field_notes" / "shallow_softmax.json"
    assert json.loads(found.read_text(encoding="utf8"))["name"] == "shallow_softmax"
    found.unlink()  # other tests count the models of this run


def test_a_recipe_begins_with_a_trained_pipeline(project, light):
    """`extended` over the baseline, in the workflow that trains a recipe beside it and reports."""
    base = "training/smoke/field_notes/baseline/model-best"
    settings = ["--vars.recipe", "extended", "--vars.base", base]
    output = run("weasel", "run", "extra", ".", *SMOKE, *settings, cwd=project, **light)
    assert output.count("Skipping") == 3  # convert, stats, baseline
    assert "extended" in (project / "report" / "smoke" / "field_notes.md").read_text(encoding="utf8")
    trained = project / "training" / "smoke" / "field_notes" / "extended" / "model-best"
    for name in ("tok2vec/model", "ner/model"):
        assert (trained / name).read_bytes() == (project / base / name).read_bytes()
    (project / "metrics" / "smoke" / "field_notes" / "extended.json").unlink()


def test_the_transformer_comes_with_the_clone(project, light, tmp_path):
    """Without a hub: pip takes the wheel of assets/encoders, here into the test's own folder."""
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    installed = tmp_path / "installed"
    path = os.pathsep.join([str(installed), light["PYTHONPATH"]])
    environment = {"PYTHONPATH": path, "PIP_TARGET": str(installed), "PIP_NO_INDEX": "1"}
    output = run("weasel", "run", "transformer", ".", *SMOKE, cwd=project, **environment)
    assert (installed / "en_longtail_trf_small").is_dir()
    assert output.count("Skipping") == 4  # convert, stats, baseline, pretrained_cnn
    assert "Package:" in output
    assert "transformer" in (project / "report" / "smoke" / "field_notes.md").read_text(encoding="utf8")
    for part in ("", "dev/"):  # other tests count the models of this run
        (project / "metrics" / "smoke" / "field_notes" / f"{part}transformer.json").unlink()


def test_clean_really_deletes(project):
    (project / "corpus" / "old").mkdir(parents=True)
    copy = project.parent / "second"
    shutil.copytree(project, copy)
    run("weasel", "run", "clean", ".", cwd=copy)
    assert not any((copy / name).exists() for name in WRITTEN)


@pytest.mark.parametrize("name", ["config", "weighted"])
def test_spacys_own_commands_work_with_our_configs(name, project, light, tmp_path, monkeypatch):
    """The training is a process of its own, as it is for a newcomer; the rest runs here."""
    monkeypatch.chdir(tmp_path)
    config = config_file(name)
    paths = [f"--paths.{p}={project}/corpus/field_notes/{p}.spacy" for p in ("train", "dev")]
    run_spacy("debug", "config", config, *paths)
    steps = ["--training.max_steps=4", "--training.eval_frequency=4"]
    run("spacy", "train", config, "-o", "out", *paths, *steps, cwd=tmp_path, **light)
    data = project / "corpus" / "field_notes" / "dev.spacy"
    run_spacy("evaluate", "out/model-best", data, "-o", "scores.json")
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf8"))
    assert {"ents_macro_f", "ents_tail_f", "ents_weighted_f"} <= set(scores)
    assert scores["ents_per_type"]["NAT"]["support"] == 18
    if name == "config":
        (tmp_path / "texts.jsonl").write_text('{"text": "Ana left for Lisbon."}\n' * 50, encoding="utf8")
        few = ["--batches", 30, "--batch-size", 2, "--warmup", 1]  # spaCy asks for 30 at least
        run_spacy("benchmark", "speed", "out/model-best", data, *few)
        (tmp_path / "labels").mkdir()
        run_spacy("init", "labels", config, "labels", *paths)
        assert json.loads((tmp_path / "labels" / "weak_ner.json").read_text()) == ["ART", "EVE", "NAT"]
