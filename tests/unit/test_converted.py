"""A converted corpus as one object: what it knows, and when its cached counts hold."""

import pytest

from spacy_longtail.corpus import converted
from spacy_longtail.corpus.converted import STATISTICS, TRAINING, ConvertedCorpus
from spacy_longtail.corpus.descriptions import CorpusTypes, write_types
from spacy_longtail.corpus.folder import write_corpus
from tests.util import toy_docs


@pytest.fixture
def counted(monkeypatch):
    """The parts that were counted, in order."""
    paths = []
    count = converted.tally_part

    def tally_part(path):
        paths.append(path.stem)
        return count(path)

    monkeypatch.setattr(converted, "tally_part", tally_part)
    return paths


def test_a_corpus_knows_its_types_and_parts(corpus):
    toy = ConvertedCorpus(corpus)
    assert toy.types == CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
    assert toy.parts == {part: corpus / f"{part}.spacy" for part in ("train", "dev", "test")}


def test_statistics_are_counted_once_for_all_objects_of_a_folder(corpus, counted):
    first = ConvertedCorpus(corpus).statistics
    again = ConvertedCorpus(corpus).statistics
    assert first == again
    assert counted == ["train", "dev", "test"]


def test_training_counts_have_mentions_and_surfaces(corpus, counted):
    ConvertedCorpus(corpus).training  # counts
    training = ConvertedCorpus(corpus).training
    assert training.mentions["NAT"] == 2
    assert ("storm ida", "NAT") in training.surfaces
    assert counted == ["train"]


def test_counts_of_an_earlier_content_are_not_used(corpus, counted):
    before = ConvertedCorpus(corpus).statistics
    write_corpus(corpus, {"dev": toy_docs()}, ConvertedCorpus(corpus).types)
    after = ConvertedCorpus(corpus).statistics
    assert before.parts["dev"].documents == 4
    assert after.parts["dev"].documents == 8


def test_statistics_of_earlier_types_are_not_used(corpus):
    before = ConvertedCorpus(corpus).statistics
    write_types(corpus, CorpusTypes(["PER", "GEO", "ART", "NAT"], ["ART"]))
    after = ConvertedCorpus(corpus).statistics
    assert (before.tail, after.tail) == (["NAT"], ["ART"])


def test_training_counts_hold_if_another_part_changes(corpus, counted):
    ConvertedCorpus(corpus).training  # counts
    write_corpus(corpus, {"dev": toy_docs()}, ConvertedCorpus(corpus).types)
    ConvertedCorpus(corpus).training
    assert counted == ["train"]


@pytest.mark.parametrize("content", ["", "{", '{"hash": "x", "counts": "{}"}'])
def test_a_damaged_cache_is_replaced(content, corpus):
    (corpus / STATISTICS).write_text(content)
    assert ConvertedCorpus(corpus).statistics.corpus == "tiny"
    assert (corpus / STATISTICS).read_text() != content


def test_a_read_only_folder_is_counted_without_a_cache(corpus):
    (corpus / TRAINING).mkdir()
    assert ConvertedCorpus(corpus).training.mentions["NAT"] == 2
