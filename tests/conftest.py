"""For the whole suite: a property fails for what it finds, never for a loaded machine."""

import gc
import pickle

import catalogue
import pytest
from hypothesis import HealthCheck, settings
from spacy.lang.en import English

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# spaCy looks for each name of a config among all entry points of the environment.
POINTS = catalogue.AVAILABLE_ENTRY_POINTS
catalogue.AVAILABLE_ENTRY_POINTS = {group: POINTS.select(group=group) for group in POINTS.groups}

# Half of the time of making or loading a small pipeline is the reading of spaCy's 1,347 exceptions for
# English. Those with "not", and abbreviations, are enough here; processes that tests start read all.
English.Defaults.tokenizer_exceptions = {
    text: parts
    for text, parts in English.Defaults.tokenizer_exceptions.items()
    if text.endswith(("n't", "."))
}


def pytest_collection_finish():
    gc.freeze()  # the modules stay: no collection looks at them again
    gc.enable()


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
