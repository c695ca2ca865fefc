"""The embedded corpus keeps its promises: size, rareness, variety, and no repeated phrases."""

from collections import defaultdict
from pathlib import Path

import pytest
import spacy

from spacy_longtail.corpus.folder import PARTS
from spacy_longtail.corpus.formats.context import Context, Events
from spacy_longtail.corpus.formats.sources import find_parts

FOLDER = Path(__file__).parents[2] / "assets" / "field_notes"
LABELS = ["PER", "ORG", "GEO", "GPE", "TIM", "ART", "EVE", "NAT"]
RARE = {"ART", "EVE", "NAT"}


@pytest.fixture(scope="module")
def sentences():
    """The sentences of each part. Every mention aligns with tokens, or the reader raises."""
    context = Context(spacy.blank("en"), Events(), LABELS)
    parts = find_parts(FOLDER, PARTS).parts
    return {name: [s for doc in part.read(context) for s in doc.sents] for name, part in parts.items()}


def is_rare(sentence):
    return any(ent.label_ in RARE for ent in sentence.ents)


def mentions(found):
    return [(ent.text.casefold(), ent.label_) for sent in found for ent in sent.ents]


def test_rare_types_are_rare_but_measurable_and_half_unseen(sentences):
    n_rare = {part: sum(map(is_rare, found)) for part, found in sentences.items()}
    assert sum(n_rare.values()) >= 150
    assert n_rare["dev"] >= 30
    assert n_rare["test"] >= 30
    train = [label for _, label in mentions(sentences["train"])]
    assert all(10 <= train.count(t) <= 50 for t in RARE)
    assert all(train.count(t) > 400 for t in set(LABELS) - RARE)
    seen = set(mentions(sentences["train"]))
    rare = [m for m in mentions(sentences["test"]) if m[1] in RARE]
    assert 0.4 <= sum(m not in seen for m in rare) / len(rare) <= 0.6


def test_words_have_several_types_and_sentences_one_part(sentences):
    types = defaultdict(set)
    for surface, label in mentions([s for part in sentences.values() for s in part]):
        types[surface].add(label)
    assert len({s for s, found in types.items() if len(found) > 1}) >= 30
    assert any({"GEO", "GPE", "ORG"} <= found for found in types.values())
    found = [{s.text for s in part} for part in sentences.values()]
    assert not (found[0] & found[1] | found[0] & found[2] | found[1] & found[2])
