"""The wheel alone, in an empty folder: what is best is there, by its name."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.util import ROOT, toy_corpus

QUICK = ("--training.max_steps", "4", "--training.eval_frequency", "4")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source = tmp_path_factory.mktemp("source")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "components", source / "components", ignore=ignored)
    pip("wheel", "--no-build-isolation", "-w", source / "dist", source)
    (found,) = (source / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def alone(wheel, light, tmp_path_factory):
    """Run a program of the wheel's in a folder that holds a corpus and nothing else."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("empty")
    pip("install", "--target", site, wheel)
    toy_corpus(folder / "corpus")
    path = os.pathsep.join([str(site), light["PYTHONPATH"]])
    where = "import os, spacy_longtail; print(os.path.dirname(spacy_longtail.__path__[0]))"
    found = subprocess.check_output(
        [sys.executable, "-c", where], cwd=folder, env={**os.environ, "PYTHONPATH": path}, text=True
    )
    assert found.strip() == str(site)  # not the clone's

    def run(*command: object) -> str:
        program = {"longtail": [site / "bin" / "longtail"], "spacy": ["-m", "spacy"]}[command[0]]
        done = subprocess.run(
            [sys.executable, *map(str, program), *map(str, command[1:])],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "300"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "-q", arguments[0], "--no-deps", *arguments[1:]]
    subprocess.run([*map(str, command)], check=True, capture_output=True)


def test_recommend_tries_the_encoder(alone):
    options = ("--steps", "2", "--folds", "3", "--set", "training.eval_frequency=2")
    said = alone("longtail", "recommend", "corpus", "--dry-run", *options)
    assert "crf-pretrained-described-gazetteer: " in said


def test_a_config_of_the_package_trains_with_stock_spacy_and_again_from_what_was_saved(alone):
    assert "pretrained_cnn" in alone("longtail", "init-config", "--list")
    alone("longtail", "init-config", "pretrained", "-o", "config.cfg", "--corpus", "corpus")
    alone("spacy", "train", "config.cfg", "-o", "out", *QUICK)
    alone("spacy", "train", "out/model-best/config.cfg", "-o", "again", *QUICK)
    alone("longtail", "init-config", "pretrained", "-o", "open.cfg")
    alone("longtail", "train", "open.cfg", "corpus", "own", *QUICK)
