"""Corpora and folders that several tests of the project use."""

import shutil

import pytest

from tests.project.pretraining import two_donors
from tests.util import toy_corpus, toy_docs


@pytest.fixture(scope="session")
def donors(tmp_path_factory):
    """The folders of two corpora with other types, to pretrain on."""
    return two_donors(tmp_path_factory.mktemp("donors"))


@pytest.fixture(scope="session")
def ships(tmp_path_factory):
    """A corpus whose dev part is twelve times the toy corpus.

    Two thirds of its documents lack the annotation of the Fram, so that ART has a low precision.
    """
    docs = toy_docs(12)
    for i, doc in enumerate(docs):
        if i // 8 % 3:
            doc.set_ents([ent for ent in doc.ents if ent.label_ != "ART"], default="outside")
    return toy_corpus(tmp_path_factory.mktemp("ships") / "toy", dev=docs)


@pytest.fixture
def work(made, tmp_path, monkeypatch):
    """A copy of the folder `made` of the test module, which is the working folder of the test."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "work"))
    return tmp_path / "work"
