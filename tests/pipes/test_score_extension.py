import pickle

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.util import registry

import spacy_longtail
from spacy_longtail.pipes.scores.extension import create_score_extension, score_in
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
    ents = [Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "GEO"), Span(doc, 5, 6, "PER")]
    doc.set_ents(ents)
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
    again = Doc(NLP.vocab).from_bytes(doc.to_bytes())
    assert [ent._.score for ent in again.ents] == [0.25, 0.5, None]
    assert pickle.loads(pickle.dumps(Span.get_extension("score")[2])) == Span.get_extension("score")[2]


class Counted(list):
    n = 0

    def __getitem__(self, i):
        self.n += 1
        return super().__getitem__(i)


def test_the_score_of_one_entity_is_found_without_looking_at_all():
    """Else the scores of all entities of a long document take as many looks as its entities squared."""
    doc = Doc(NLP.vocab, words=["a"] * 600)
    spans = [Span(doc, i // 2 * 2, i // 2 * 2 + 1 + i % 2, "PER") for i in range(600)]
    scores = [i / 600 for i in range(600)]
    group = Counted(spans)
    for i in (0, 7, 300, 599):
        assert score_in(group, scores, spans[i], is_ordered=True) == scores[i]
        assert score_in(group, scores, Span(doc, i, i + 1, "GEO"), is_ordered=True) is None
    assert group.n < 200
    behind = [*range(300, 600), *range(300)]  # another order
    turned = [spans[i] for i in behind], [scores[i] for i in behind]
    assert [score_in(*turned, span, is_ordered=False) for span in spans] == scores
    assert score_in(spans, scores[:599], spans[599], is_ordered=True) is None
    assert score_in(spans, scores, Span(doc, 4, 7, "PER"), is_ordered=True) is None


def test_groups_of_other_pipes_may_be_in_any_order():
    spacy_longtail.register_score_extension()
    doc = Doc(NLP.vocab, words=["Ann", "saw", "Rome"], ents=["B-PER", "O", "B-GEO"])
    doc.spans[ENTITY_SCORES] = list(reversed(doc.ents))
    doc.spans[ENTITY_SCORES].attrs["scores"] = [0.75, 0.5]
    assert [ent._.score for ent in doc.ents] == [0.5, 0.75]


def test_scores_of_another_key_under_another_name():
    spacy_longtail.register_score_extension()
    with pytest.raises(ValueError, match=r"L587.*'score'.*reads doc.spans\['entity_scores'\]"):
        spacy_longtail.register_score_extension("unsure")
    spacy_longtail.register_score_extension("unsure", "unsure")
    ent = scored("unsure").ents[0]
    assert ent._.unsure == 0.25 and ent._.score is None


def test_the_extension_of_another_package_stays():
    Span.set_extension("score", default=1)
    with pytest.raises(ValueError, match="L587"):
        spacy_longtail.register_score_extension()
    assert scored().ents[0]._.score == 1


@pytest.mark.parametrize("when", ["before_creation", "after_creation", "after_pipeline_creation"])
def test_a_loaded_pipeline_brings_it_along(when, tmp_path):
    name = "longtail.score_extension.v1"
    if name not in registry.callbacks:  # an environment that was installed before
        registry.callbacks.register(name, func=create_score_extension)
    callback = {"@callbacks": name, "key": ENTITY_SCORES}
    spacy.blank("en", config={"nlp": {when: callback}}).to_disk(tmp_path)
    remove()
    spacy.load(tmp_path)
    assert scored().ents[1]._.score == 0.5
