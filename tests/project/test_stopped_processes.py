"""Processes of `nlp.pipe(n_process=2)` end when their parent stops reading."""

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
START = """
import multiprocessing, os, signal
import spacy
from spacy_longtail.cli.boundary import boundary
from spacy_longtail.unlabelled.pool import processed

multiprocessing.set_start_method("fork", force=True)
nlp = spacy.blank("en")
text = "no boat came " * 3_000  # more than a pipe between processes holds
"""
ABANDON = """
batches = processed(nlp, iter([text] * 1000), 1, 2)
next(batches)
batches.close()
"""
INTERRUPT = """
def texts():
    for i in range(1000):
        if i == 20:
            os.kill(os.getpid(), signal.SIGTERM)  # within spaCy's loop
        yield text

with boundary([]):
    for _ in processed(nlp, texts(), 1, 2):
        pass
"""


@pytest.mark.parametrize(("code", "status"), [(ABANDON, 0), (INTERRUPT, 130)])
def test_a_pass_that_is_stopped_leaves_no_process(code, status, light):
    code = f"{START}{code}\nassert not multiprocessing.active_children()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **light}, timeout=90
    )
    assert done.returncode == status, done.stderr
