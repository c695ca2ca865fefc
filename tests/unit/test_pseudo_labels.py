"""Pseudo-labels: what is annotated in them, which are chosen, and what a teacher must have."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Span
from spacy.training import Example

from spacy_longtail.corpus.cutting import read_soft
from spacy_longtail.corpus.likeness import text_key
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from spacy_longtail.types import ENTITY_SCORES
from spacy_longtail.unlabelled.known import KnownSentences
from spacy_longtail.unlabelled.pseudo_labels import (
    PredictedMention,
    PredictedSentence,
    PseudoLabelPolicy,
    Selection,
)
from spacy_longtail.unlabelled.teacher import DOUBTS, PoolTeacher, annotate, soft_tagger
from tests.pipes import gated as components  # noqa: F401  # registers them
from tests.util import SENTENCES, TOKEN_MODEL, blank, one_pipe, parse, small_ner, trained_once, words

LABELS = ["A", "B", "C"]
score = st.sampled_from([None, 0.0, 0.3, 0.6, 0.89, 0.9, 0.95, 0.99, 1.0])


@st.composite
def sentences(draw):
    """Sentences of some words, with entities side by side, and tokens that are surely O or not."""
    found = []
    for i in range(draw(st.integers(0, 12))):
        n = draw(st.integers(1, 5))
        places = draw(st.sets(st.integers(0, n - 1)))
        mentions = [
            PredictedMention(p, p + 1, draw(st.sampled_from(LABELS)), draw(score))
            for p in sorted(places)
        ]
        sure = np.array([p not in places and draw(st.booleans()) for p in range(n)])
        found.append(PredictedSentence([f"w{i}x{p}" for p in range(n)], [True] * n, mentions, sure))
    return found


def selected(found, policy):
    selection = Selection(policy, LABELS)
    for sentence in found:
        selection.add(sentence)
    return selection.choose()


scores, shares = st.sampled_from([0.5, 0.9, 1.0]), st.sampled_from([0.0, 0.2, 0.5])
policies = st.builds(PseudoLabelPolicy, scores, st.integers(1, 4), shares)


@pytest.mark.parametrize("empty", [1.0, 1, 1.5, -0.1, float("nan")])
def test_a_fraction_of_empty_sentences_that_none_can_have_is_refused(empty):
    with pytest.raises(ValueError, match=r"L001.*'empty' must be a number of at least 0 and below 1"):
        PseudoLabelPolicy(empty=empty)


@given(found=sentences(), policy=policies)
def test_a_selection_equals_that_from_all_sentences_in_memory(found, policy):
    """As of a selection that keeps every sentence, ranked by its minimum score."""
    order = sorted(found, key=lambda s: (s.min_score, text_key(" ".join(s.words))), reverse=True)
    counts, expected = Counter(), []
    for sentence in order:
        own = set()
        for i, mention in enumerate(sentence.mentions):
            is_sure = mention.score is not None and mention.score >= policy.threshold
            if is_sure and counts[mention.label] < policy.max_mentions:
                counts[mention.label] += 1
                own.add(i)
        if own:
            expected.append((sentence.words, own))
    chosen = selected(found, policy)
    assert [(own.sentence.words, own.kept) for own in chosen if own.kept] == expected
    empty = [own for own in chosen if not own.kept]
    assert all(not own.sentence.mentions and own.sentence.sure.all() for own in empty)
    there = sum(not s.mentions and bool(s.sure.all()) for s in found)
    assert len(empty) == min(there, round(len(expected) * policy.empty / (1 - policy.empty)))
    vocab = blank().vocab
    for own in chosen:  # no token below the threshold becomes O
        doc = own.sentence.doc(vocab, own.kept, [])
        mentions = [m for i, m in enumerate(own.sentence.mentions) if i in own.kept]
        assert [(e.start, e.end, e.label_) for e in doc.ents] == [m[:3] for m in mentions]
        iob = doc.to_array("ENT_IOB")
        assert np.array_equal(iob == 2, own.sentence.sure)
        inside = sum(m.end - m.start for m in mentions)
        assert next(iter(doc.sents)).text == doc.text == own.sentence.text
        assert (iob == 0).sum() == len(doc) - own.sentence.sure.sum() - inside


def pipeline(**settings):
    return one_pipe(model=TOKEN_MODEL, **settings)


def teacher(labels=("PER", "GEO", "ART", "NAT"), steps=25, **settings):
    nlp, _ = trained_once(pipeline, steps, **settings)
    return PoolTeacher(nlp, "teacher", list(labels))


def read(own, texts=SENTENCES, threshold=0.9, soft=False):
    docs = list(own.nlp.pipe(words(own.nlp, text) for text in texts))
    return docs, [s for doc in docs for s in own.read(doc, [doc[:]], threshold, soft)]


def annotated(own, docs, known, soft):
    selection = Selection(PseudoLabelPolicy(0.5), own.labels)
    seen = annotate(own, docs, known_of(known), selection, soft)
    return selection.choose(), seen


def known_of(docs):
    known = KnownSentences()
    known.add_docs(docs, blank())
    return known


@pytest.mark.parametrize("head", ["softmax", "crf", "sigmoid", "two_task"])
@pytest.mark.parametrize("threshold", [0.3, 0.9, 0.999])
def test_a_teacher_is_sure_where_its_marginals_are(head, threshold):
    own = teacher(head=head, steps=10)
    docs, found = read(own, threshold=threshold)
    p = own.taggers[0].tokens.marginals(docs)[:, 0]
    entity = np.concatenate([[t.ent_iob != 2 for t in doc] for doc in docs])
    assert np.array_equal(np.concatenate([s.sure for s in found]), (p >= threshold) & ~entity)


def test_entity_scores_are_the_pipes_own_and_known_sentences_are_skipped():
    own = teacher()
    docs, found = read(own)
    assert any(s.mentions for s in found)
    for doc, sentence in zip(docs, found, strict=True):
        group = doc.spans[ENTITY_SCORES]
        assert [m[:3] for m in sentence.mentions] == [(s.start, s.end, s.label_) for s in group]
        assert [m.score for m in sentence.mentions] == group.attrs["scores"]
    chosen, seen = annotated(own, docs, docs[:5], False)
    assert seen.sentences == 8 and seen.known == 5
    texts = {" ".join(c.sentence.words) for c in chosen}
    assert texts and texts <= {doc.text.strip() for doc in docs[5:]}


def test_what_is_without_a_score_or_below_a_threshold_is_missing():
    nlp, _ = trained_once(pipeline, 25, scores_key="scores", thresholds={"PER": 1.0})
    own = PoolTeacher(nlp, "teacher", ["PER", "GEO", "ART", "NAT"])
    docs, found = read(own, threshold=0.01)
    doubtful = [(i, span) for i, doc in enumerate(docs) for span in doc.spans[DOUBTS]]
    assert doubtful
    for i, span in doubtful:
        assert not found[i].sure[span.start : span.end].any()
        assert not any(m.label == "PER" for m in found[i].mentions)
    own = teacher()
    doc = words(own.nlp, SENTENCES[3])
    doc.set_ents([Span(doc, 0, 1, label="NAT")])  # as of a ruler
    (sentence,) = own.read(own.nlp(doc), [doc[:]], 0.5, False)
    assert sentence.mentions[0] == PredictedMention(0, 1, "NAT", None) and not sentence.sure[0]
    assert not selected([sentence], PseudoLabelPolicy())


def test_of_equal_texts_the_most_confident_counts():
    doubtful = [PredictedMention(0, 1, "A", 0.92), PredictedMention(1, 2, "B", 0.91)]
    sure = [PredictedMention(0, 1, "A", 0.99), PredictedMention(1, 2, "B", 0.98)]
    found = [
        PredictedSentence(["x", "y"], [True, False], own, np.zeros(2, bool)) for own in (doubtful, sure)
    ]
    (chosen,) = selected(found, PseudoLabelPolicy())
    assert chosen.sentence is found[1] and chosen.kept == {0, 1}


def test_entities_without_a_score_are_counted():
    nlp, _ = trained_once(pipeline, 25)
    nlp.add_pipe("test_open_gate")
    config = {"pipe": {"factory": "test_ruler"}, "labels": ["NAT"]}
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config=config)
    own = PoolTeacher(nlp, "teacher", ["PER", "GEO", "NAT"])
    texts = ["it rained .", "Maria met Jon Berg in Oslo .", "it rained on ."]
    docs = list(nlp.pipe(words(nlp, text) for text in texts))
    assert [e.text for doc in docs for e in doc.ents if e.label_ == "NAT"] == ["rained"] * 2
    selection = Selection(PseudoLabelPolicy(0.1), own.labels)
    seen = annotate(own, docs, known_of(docs[2:]), selection, False)
    assert seen.unscored == {"NAT": 1} and seen.scored  # what is known does not count


def test_other_types_are_outside():
    own = teacher(labels=["PER", "NEW"])
    assert own.lacking == ["NEW"] and own.soft_tags == ["O", "B-PER", "I-PER"]
    docs, found = read(own, soft=True)
    p, tags = own.taggers[0].tokens.marginals(docs), own.taggers[0].tokens.codec.tags
    others = [i for i, tag in enumerate(tags) if tag[2:] != "PER"]
    rows = np.concatenate([s.log_p for s in found])
    assert np.exp(rows[:, 0].astype("f")) == pytest.approx(p[:, others].sum(axis=1), rel=5e-3)
    chosen, seen = annotated(own, docs, (), True)
    assert seen.texts == len(docs)
    assert {own.sentence.mentions[i].label for own in chosen for i in own.kept} == {"PER"}
    doc = chosen[0].sentence.doc(blank().vocab, chosen[0].kept, own.soft_tags)
    assert np.exp(read_soft(doc).log_p).sum(axis=1) == pytest.approx(1.0, abs=5e-3)


def test_without_marginals_tokens_outside_entities_are_o():
    """Of a pipeline without marginals what it reads no entity in is O."""
    nlp = one_pipe("longtail_ner", **small_ner(), scores_key="scores")
    nlp.initialize(lambda: [Example(words(nlp, s), parse(nlp, s)) for s in SENTENCES])
    own = PoolTeacher(nlp, "teacher", ["PER"])
    doc = words(nlp, SENTENCES[0])
    doc.set_ents([Span(doc, 0, 1, label="PER"), Span(doc, 3, 4, label="GEO")])
    write_scores(doc, "scores", [ScoredSpan(0, 1, "PER", 0.97, ())])
    (sentence,) = own.read(doc, [doc[:]], 0.9, False)
    assert sentence.mentions == [PredictedMention(0, 1, "PER", 0.97)]
    assert sentence.sure.tolist() == [False, *[True] * (len(doc) - 1)]  # GEO is of no declared type


def test_a_component_of_another_package_may_have_thresholds_only():
    nlp, _ = trained_once(pipeline, 25)
    nlp.add_pipe("entity_ruler").cfg = {"thresholds": {"PER": 0.5}}
    assert PoolTeacher(nlp, "teacher", ["PER"]).doubts == [DOUBTS]


def test_a_teacher_must_have_scores_types_and_one_tagger():
    with pytest.raises(ValueError, match=r"L509.*mine"):
        PoolTeacher(one_pipe("ner"), "mine", ["PER"])
    nlp, _ = trained_once(pipeline, 25)
    with pytest.raises(ValueError, match=r"L509.*EVE"):
        PoolTeacher(nlp, "mine", ["EVE"])
    assert soft_tagger(pipeline(head="crf")).cfg["head"] == "crf"
    two = pipeline()
    two.add_pipe("ner", name="other")
    for nlp in (two, pipeline(head="sigmoid"), pipeline(head="two_task"), blank()):
        with pytest.raises(ValueError, match="L513"):
            soft_tagger(nlp)
