"""The embedded corpus keeps its promises: size, rareness, variety, and no repeated phrases."""

from collections import defaultdict
from pathlib import Path

import pytest
import spacy

from spacy_longtail.corpus.folder import PARTS
from spacy_longtail.corpus.formats.context import Context, Events, Settings
from spacy_longtail.corpus.formats.markup import article_doc, read_article

FOLDER = Path(__file__).parents[2] / "assets" / "field_notes"
LABELS = ["PER", "ORG", "GEO", "GPE", "TIM", "ART", "EVE", "NAT"]
RARE = {"ART", "EVE", "NAT"}


@pytest.fixture(scope="module")
def articles():
    paths = {part: sorted((FOLDER / part).glob("*.txt")) for part in PARTS}
    return {part: [read_article(path, LABELS) for path in own] for part, own in paths.items()}


@pytest.fixture(scope="module")
def sentences(articles):
    return {part: [s for a in found for s in a.sentences] for part, found in articles.items()}


def masked(sentence):
    text = sentence.text
    for start, end, label in reversed(sentence.spans):
        text = f"{text[:start]}<{label}>{text[end:]}"
    return text


def is_rare(sentence):
    return any(label in RARE for *_, label in sentence.spans)


def mentions(found):
    return [(s.text[a:b].casefold(), label) for s in found for a, b, label in s.spans]


def test_rare_types_are_rare_but_measurable(sentences):
    n_rare = {part: sum(map(is_rare, found)) for part, found in sentences.items()}
    assert sum(n_rare.values()) >= 150
    assert n_rare["dev"] >= 30
    assert n_rare["test"] >= 30
    train = [label for _, label in mentions(sentences["train"])]
    assert all(10 <= train.count(t) <= 50 for t in RARE)
    assert all(train.count(t) > 400 for t in set(LABELS) - RARE)


def test_about_half_of_the_rare_test_mentions_are_unseen(sentences):
    seen = set(mentions(sentences["train"]))
    rare = [m for m in mentions(sentences["test"]) if m[1] in RARE]
    assert 0.4 <= sum(m not in seen for m in rare) / len(rare) <= 0.6


def test_the_same_word_has_several_types(sentences):
    types = defaultdict(set)
    for surface, label in mentions([s for part in sentences.values() for s in part]):
        types[surface].add(label)
    ambiguous = {s for s, found in types.items() if len(found) > 1}
    assert len(ambiguous) >= 30
    assert any({"GEO", "GPE", "ORG"} <= found for found in types.values())


def test_no_sentence_is_in_two_parts(sentences):
    found = [{s.text for s in part} for part in sentences.values()]
    assert not (found[0] & found[1] | found[0] & found[2] | found[1] & found[2])


def test_every_mention_aligns_with_tokens(articles):
    nlp = spacy.blank("en")
    context = Context(nlp, Settings(misaligned="error"), Events(), LABELS)
    for part in articles.values():
        for article in part:
            doc = article_doc(article, context)
            assert len(doc.ents) == sum(len(s.spans) for s in article.sentences)
            assert len(list(doc.sents)) == len(article.sentences)
