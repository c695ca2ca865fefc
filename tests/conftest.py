"""For the whole suite: a property fails for what it finds, never for a loaded machine."""

import gc
import os
import pickle

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the processes of xdist share the cores; before torch

import catalogue
import pytest
from hypothesis import HealthCheck, settings
from spacy.lang.en import English

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# spaCy looks for each name of a config among all entry points of the environment.
POINTS = catalogue.AVAILABLE_ENTRY_POINTS
catalogue.AVAILABLE_ENTRY_POINTS = {group: POINTS.select(group=group) for group in POINTS.groups}

# Half of the time of making or loading a small pipeline is the reading of 1,347 exceptions of spaCy's
# English tokenizer. Processes that tests start read all of them.
READ = ("don't", "can't", "cannot", "Mr.", "Dr.", "St.", "Inc.", "a.m.", "10am", "'s", ":)", "C++")
English.Defaults.tokenizer_exceptions = {
    text: English.Defaults.tokenizer_exceptions[text] for text in READ
}


def pytest_collection_finish():
    """The modules stay: the garbage collection of each test leaves them out."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_pickle(monkeypatch):
    """Whatever reads or writes a pickle fails."""
    import torch

    def forbidden(*args, **kwargs):
        raise AssertionError("pickle was used")

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    for name in ("load", "save"):
        monkeypatch.setattr(torch, name, forbidden)
