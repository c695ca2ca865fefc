"""The sample corpora: rare types, names that training lacks, and no sentence in two parts."""

import pytest
import spacy

from spacy_longtail.corpus.folder import convert_corpus, load_docs
from spacy_longtail.corpus.parts import part_path
from tests.util import ROOT

ENGLISH = {"PER", "ORG", "GEO", "GPE", "TIM"}, {"ART", "EVE", "NAT"}
GERMAN = {"PERSON", "ORT", "ORGANISATION", "ZEIT", "TIER"}, {"SCHIFF", "FEST", "STURM"}


def sentences_of(name, lang, folder):
    """Return the sentences of each part. A mention that does not align with tokens would raise."""
    convert_corpus(ROOT / "assets" / name, folder)
    parts = ("train", "dev", "test")
    docs = {part: load_docs(part_path(folder, part), spacy.blank(lang)) for part in parts}
    return {part: [sent for doc in own for sent in doc.sents] for part, own in docs.items()}


@pytest.fixture(scope="module")
def field_notes(tmp_path_factory):
    return sentences_of("field_notes", "en", tmp_path_factory.mktemp("field_notes"))


@pytest.fixture(scope="module")
def inselbote(tmp_path_factory):
    return sentences_of("inselbote", "de", tmp_path_factory.mktemp("inselbote"))


def mentions(sentences, types):
    """Return name and type of each mention of these types."""
    found = [(ent.text.casefold(), ent.label_) for sent in sentences for ent in sent.ents]
    return [mention for mention in found if mention[1] in types]


each_corpus = pytest.mark.parametrize(
    ("name", "types", "rare_counts"),
    [("field_notes", ENGLISH, range(10, 51)), ("inselbote", GERMAN, range(5, 31))],
)


@each_corpus
def test_some_types_are_rare_in_training(name, types, rare_counts, request):
    frequent, rare = types
    train = request.getfixturevalue(name)["train"]
    counts = {label: len(mentions(train, {label})) for label in frequent | rare}
    assert all(counts[label] in rare_counts for label in rare)
    assert all(counts[label] > max(rare_counts) for label in frequent)


@each_corpus
def test_half_of_the_rare_names_of_test_do_not_occur_in_training(name, types, rare_counts, request):
    parts = request.getfixturevalue(name)
    test, train = (mentions(parts[part], types[1]) for part in ("test", "train"))
    assert 0.4 <= sum(mention not in train for mention in test) / len(test) <= 0.6


@each_corpus
def test_no_sentence_stands_in_two_parts(name, types, rare_counts, request):
    texts = [{sent.text for sent in part} for part in request.getfixturevalue(name).values()]
    assert sum(map(len, texts)) == len(set.union(*texts))
