"""The German sample corpus: enough sentences, rare types, and names that training lacks."""

from pathlib import Path

import pytest
import spacy

from spacy_longtail.corpus.folder import convert_corpus, load_docs, part_path

FOLDER = Path(__file__).parents[2] / "assets" / "inselbote"
RARE = {"SCHIFF", "FEST", "STURM"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The documents of each part. A mention that does not align with German tokens would raise."""
    folder = tmp_path_factory.mktemp("inselbote")
    convert_corpus(FOLDER, folder)
    nlp = spacy.blank("de")
    return {part: load_docs(part_path(folder, part), nlp) for part in ("train", "dev", "test")}


def mentions(docs, types):
    return {(ent.text, ent.label_) for doc in docs for ent in doc.ents if ent.label_ in types}


def test_it_has_at_least_600_german_sentences(parts):
    assert sum(len(list(doc.sents)) for docs in parts.values() for doc in docs) >= 600


def test_three_types_are_rare_in_training(parts):
    labels = [ent.label_ for doc in parts["train"] for ent in doc.ents]
    assert all(5 <= labels.count(label) <= 30 for label in RARE)
    assert all(labels.count(label) > 30 for label in {"PERSON", "ORT", "ORGANISATION", "ZEIT", "TIER"})


def test_half_of_the_rare_names_of_test_do_not_occur_in_training(parts):
    test, train = mentions(parts["test"], RARE), mentions(parts["train"], RARE)
    assert 0.4 <= len(test - train) / len(test) <= 0.6


def test_no_sentence_stands_in_two_parts(parts):
    sentences = [{sent.text for doc in docs for sent in doc.sents} for docs in parts.values()]
    assert not (
        sentences[0] & sentences[1] or sentences[0] & sentences[2] or sentences[1] & sentences[2]
    )
