"""The bulk recipes on a cluster of this machine, with a worker that is killed."""

import importlib.util
import os
import shutil

import pytest

from tests.util import run_script

from . import plugin  # noqa: F401  registers the pipeline's components
from .util import RECIPES, check_output, left_behind, make_job, run

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.usefixtures("light_processes")


def is_there(engine):
    return importlib.util.find_spec(engine) is not None


HAS_JVM = shutil.which("java") is not None or "JAVA_HOME" in os.environ
ENGINES = [
    pytest.param(
        "ray_bulk.py",
        ("--workers", "2", "--block-size", "40"),
        ("--workers", "1", "--block-size", "40"),
        marks=pytest.mark.skipif(not is_there("ray"), reason="Ray is not installed"),
        id="ray",
    ),
    pytest.param(
        "spark_bulk.py",
        ("--workers", "1", "--partitions", "3"),
        ("--workers", "1", "--partitions", "2"),
        marks=pytest.mark.skipif(
            not (is_there("pyspark") and HAS_JVM), reason="pyspark or a JVM is not there"
        ),
        id="spark",
    ),
]
engines = pytest.mark.parametrize(("recipe", "several", "single"), ENGINES)


@engines
def test_every_document_once_though_a_worker_dies(recipe, several, single, tmp_path):
    job = make_job(tmp_path, times=1)
    ran = run(recipe, job, *several, "--docs")
    assert ran.returncode == 0, ran.stderr
    assert "300 documents" in ran.stdout
    check_output(job, deaths=1)


@engines
def test_a_document_that_always_kills_ends_the_run(recipe, several, single, tmp_path):
    job = make_job(tmp_path, times=9)
    ran = run(recipe, job, *single, "--retries", "1")
    assert ran.returncode == 1
    assert "No output was written" in ran.stdout
    assert job.deaths.read_text() == "xx"
    assert left_behind(job) == []


@engines
def test_an_output_that_exists_is_left_alone(recipe, several, single, tmp_path, monkeypatch):
    job = make_job(tmp_path, times=0)
    job.output.mkdir()
    monkeypatch.syspath_prepend(RECIPES)
    monkeypatch.chdir(tmp_path)
    ran = run_script(RECIPES / recipe, "model", job.source.name, "out")
    assert ran.exit_code == 2
    assert "exists already" in ran.output
    assert left_behind(job) == ["out"]
    assert not list(job.output.iterdir())
