"""recipes/ray_bulk.py on a cluster of this machine, with a worker that is killed."""

import pytest

from . import plugin  # noqa: F401  registers the pipeline's components
from .util import check_output, left_behind, make_job, run

pytest.importorskip("pyarrow")
pytest.importorskip("ray.data")


def test_every_document_once_though_a_worker_dies(tmp_path):
    job = make_job(tmp_path, times=1)
    ran = run("ray_bulk.py", job, "--workers", "2", "--block-size", "40", "--docs")
    assert ran.returncode == 0, ran.stderr
    assert "300 documents" in ran.stdout
    check_output(job, deaths=1)


def test_a_document_that_always_kills_ends_the_run(tmp_path):
    job = make_job(tmp_path, times=9)
    options = ("--workers", "1", "--block-size", "40", "--retries", "1")
    ran = run("ray_bulk.py", job, *options)
    assert ran.returncode == 1
    assert "No output was written" in ran.stdout
    assert job.deaths.read_text() == "xx"
    assert left_behind(job) == []


def test_an_output_that_exists_is_left_alone(tmp_path):
    job = make_job(tmp_path, times=0)
    job.output.mkdir()
    ran = run("ray_bulk.py", job)
    assert ran.returncode == 2
    assert "exists already" in ran.stderr
    assert left_behind(job) == ["out"]
    assert not list(job.output.iterdir())
