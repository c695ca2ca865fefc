"""recipes/ray_matrix.py on a cluster of this machine."""

import subprocess
import sys

import pytest

from spacy_longtail.studies.trials.store import TrialStore
from tests.util import run_script, toy_corpus, toy_docs

from .util import RECIPES

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.usefixtures("light_processes")
PLAN = "steps: 2\nseeds: 1\nsettings: {training.eval_frequency: 1}\ngrids: [{head: [softmax, crf]}]\n"


@pytest.mark.slow
def test_each_trial_is_a_task(tmp_path):
    toy_corpus(tmp_path / "tiny", test=toy_docs(3))
    (tmp_path / "plan.yml").write_text(PLAN, encoding="utf8")
    command = [sys.executable, RECIPES / "ray_matrix.py", "plan.yml", "tiny", "-o", "out"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    records = TrialStore(tmp_path / "out").records().values()
    assert sorted(record.method for record in records) == ["crf", "softmax"]
    assert all(record.is_done for record in records)
    assert (tmp_path / "out" / "report" / "index.html").is_file()


def test_a_plan_that_is_none_is_refused_before_ray_starts(tmp_path):
    ran = run_script(RECIPES / "ray_matrix.py", "nothing.yml", "-o", tmp_path / "out")
    assert ran.exit_code == 2 and "L402" in ran.output
    assert not ray.is_initialized()
