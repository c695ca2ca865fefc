import pickle

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.tokens.underscore import Underscore

import spacy_longtail
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from spacy_longtail.types import ENTITY_SCORES

NLP = spacy.blank("en")


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    """The extensions of spans: only ours is registered."""
    monkeypatch.setattr(Underscore, "span_extensions", {})
    spacy_longtail.register_score_extension()
    return Underscore.span_extensions


def scored(key=ENTITY_SCORES):
    doc = Doc(NLP.vocab, words=["Ann", "saw", "New", "Rome", "and", "Bo"])
    doc.set_ents([Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "GEO"), Span(doc, 5, 6, "PER")])
    found = [ScoredSpan(2, 4, "GEO", 0.5, (0.4, 0.6)), ScoredSpan(0, 1, "PER", 0.25, (0.25,))]
    write_scores(doc, key, [*found, ScoredSpan(5, 6, "PER", float("inf"), (1.0,))])
    return doc


def test_entities_say_their_score_and_other_spans_have_none():
    spacy_longtail.register_score_extension()  # a second time changes nothing
    doc = scored()
    assert [ent._.score for ent in doc.ents] == [0.25, 0.5, None]
    assert Span(doc, 2, 4, "PER")._.score is None and doc[2:3]._.score is None
    assert [ent._.score for ent in Doc(NLP.vocab, words=["a"], ents=["B-PER"]).ents] == [None]


def test_scores_are_saved_with_a_document_and_the_getter_can_be_pickled():
    doc = Doc(NLP.vocab).from_bytes(scored().to_bytes())
    assert [ent._.score for ent in doc.ents] == [0.25, 0.5, None]
    getter = pickle.loads(pickle.dumps(Span.get_extension("score")[2]))
    assert [getter(ent) for ent in doc.ents] == [0.25, 0.5, None]


def test_scores_in_another_order_are_those_of_their_entities():
    doc = Doc(NLP.vocab, words=["Ann", "saw", "Rome"], ents=["B-PER", "O", "B-GEO"])
    doc.spans[ENTITY_SCORES] = list(reversed(doc.ents))
    doc.spans[ENTITY_SCORES].attrs["scores"] = [0.75, 0.5]
    assert [ent._.score for ent in doc.ents] == [0.5, 0.75]


def test_scores_of_another_key_have_an_extension_of_their_own():
    spacy_longtail.register_score_extension("unsure", "unsure")
    ent = scored("unsure").ents[0]
    assert ent._.unsure == 0.25 and ent._.score is None


def test_the_extension_of_another_package_stays(extensions):
    extensions.clear()
    Span.set_extension("score", default=1)
    with pytest.raises(ValueError, match="E090"):
        spacy_longtail.register_score_extension()
    assert scored().ents[0]._.score == 1
