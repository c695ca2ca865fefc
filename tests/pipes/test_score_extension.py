import pickle

import pytest
import spacy
from spacy.tokens import Doc, Span

import spacy_longtail
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from spacy_longtail.types import ENTITY_SCORES

NLP = spacy.blank("en")


@pytest.fixture(autouse=True)
def _no_extensions():
    remove()
    yield
    remove()


def remove():
    for name in ("score", "unsure"):
        if Span.has_extension(name):
            Span.remove_extension(name)


def scored(key=ENTITY_SCORES):
    doc = Doc(NLP.vocab, words=["Ann", "saw", "New", "Rome", "and", "Bo"])
    doc.set_ents([Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "GEO"), Span(doc, 5, 6, "PER")])
    found = [ScoredSpan(2, 4, "GEO", 0.5, (0.4, 0.6)), ScoredSpan(0, 1, "PER", 0.25, (0.25,))]
    write_scores(doc, key, [*found, ScoredSpan(5, 6, "PER", float("inf"), (1.0,))])
    return doc


def test_entities_say_their_score():
    assert not Span.has_extension("score")
    spacy_longtail.register_score_extension()
    spacy_longtail.register_score_extension()
    doc = scored()
    assert [ent._.score for ent in doc.ents] == [0.25, 0.5, None]
    assert Span(doc, 2, 4, "PER")._.score is None and doc[2:3]._.score is None
    assert [ent._.score for ent in Doc(NLP.vocab, words=["a"], ents=["B-PER"]).ents] == [None]
    assert [ent._.score for ent in Doc(NLP.vocab).from_bytes(doc.to_bytes()).ents] == [0.25, 0.5, None]
    getter = pickle.loads(pickle.dumps(Span.get_extension("score")[2]))
    assert [getter(ent) for ent in doc.ents] == [0.25, 0.5, None]
    spacy_longtail.register_score_extension()
    doc = Doc(NLP.vocab, words=["Ann", "saw", "Rome"], ents=["B-PER", "O", "B-GEO"])
    doc.spans[ENTITY_SCORES] = list(reversed(doc.ents))
    doc.spans[ENTITY_SCORES].attrs["scores"] = [0.75, 0.5]
    assert [ent._.score for ent in doc.ents] == [0.5, 0.75]
    spacy_longtail.register_score_extension("unsure", "unsure")
    ent = scored("unsure").ents[0]
    assert ent._.unsure == 0.25 and ent._.score is None


def test_the_extension_of_another_package_stays():
    Span.set_extension("score", default=1)
    with pytest.raises(ValueError, match="E090"):
        spacy_longtail.register_score_extension()
    assert scored().ents[0]._.score == 1
