"""Undersampling, relabelling and drawing, each against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_longtail.corpus.counts import count_docs
from spacy_longtail.readers import (
    ImbalancedCorpus,
    LowResourceCorpus,
    RelabelledCorpus,
    UndersampledCorpus,
)
from spacy_longtail.readers.sampled import rounded
from spacy_longtail.readers.undersampled import document_tokens, kept_tokens
from tests.contracts.check_reader import Fixed, corpus_of
from tests.util import blank, examples, parse, two_sentences, words

NLP = blank()


def example(text):
    return Example(words(NLP, text), parse(NLP, text))


def texts(found):
    return [[t.text for t in eg.reference] for eg in found]


@given(st.lists(st.booleans(), max_size=40), st.floats(1, 6))
def test_balanced_undersampling_against_its_definition(entity, ratio):
    """The slow way: add both neighbours of every kept token, round after round."""
    kept = {i for i, e in enumerate(entity) if e}
    n = len(kept)
    while kept and len(kept) < min(ratio * n, len(entity)):
        kept |= {i + step for i in kept for step in (-1, 1) if 0 <= i + step < len(entity)}
    assert kept_tokens(np.array(entity, dtype=bool), ratio).tolist() == sorted(kept)


def test_documents_are_cut_sentence_by_sentence():
    eg = two_sentences(NLP)  # the first sentence has no entity
    assert min(document_tokens(eg.reference)) == 6
    (found,) = UndersampledCorpus(Fixed([eg]), ratio=1)(NLP)
    assert texts([found]) == [["Rome", "Storm", "Ida"]]
    assert [(e.text, e.label_) for e in found.reference.ents] == [("Rome", "GEO"), ("Storm Ida", "NAT")]
    assert [t.is_sent_start for t in found.reference] == [True, False, False]
    assert texts(UndersampledCorpus(Fixed([eg, examples(NLP)[3]]), ratio=2)(NLP)) == [
        ["Rome", "sent", "when", "Storm", "Ida", "passed"]
    ]


def test_undersampling_keeps_three_times_the_tokens_of_entities_by_default():
    assert kept_tokens(np.array([False] * 4 + [True] + [False] * 4)).tolist() == [3, 4, 5]


def test_undersampling_where_tokens_differ():
    tokens, spaces = ["It", "'s", "New", "York-", "bound"], [False, True, True, False, True]
    reference = Doc(NLP.vocab, words=tokens, spaces=spaces)
    reference.ents = [reference.char_span(5, 14, label="GEO")]
    eg = Example(NLP.make_doc(reference.text), reference)
    assert len(eg.predicted) != len(reference)
    (found,) = UndersampledCorpus(Fixed([eg]), ratio=1)(NLP)
    assert found.predicted.text == found.reference.text == "New York-"


def test_types_left_out():
    data = examples(NLP)
    found = list(RelabelledCorpus(Fixed(data), keep=["ART", "NAT"])(NLP))
    assert {e.label_ for eg in found for e in eg.reference.ents} == {"ART", "NAT"}
    first = [t.ent_iob_ for t in found[0].reference]  # Maria, Oslo, Fram
    assert first == ["O", "O", "O", "O", "O", "O", "B", "O"]
    dropped = list(RelabelledCorpus(Fixed(data), drop=["PER", "GEO"])(NLP))
    assert [eg.to_dict() for eg in dropped] == [eg.to_dict() for eg in found]
    assert found[3] is data[3]  # nothing to leave out
    same = list(RelabelledCorpus(Fixed(data), keep=[], drop=["PER", "GEO"])(NLP))
    assert [eg.reference.to_json() for eg in same] == [eg.reference.to_json() for eg in dropped]
    reader = RelabelledCorpus(Fixed(examples(NLP)), keep=["NAT", "EVE"])
    with pytest.warns(UserWarning, match=r"LW012.*EVE.*ART, GEO, NAT, PER.*pretrained encoder"):
        list(reader(NLP))


def test_draws_nest_and_partitions_differ():
    data = examples(NLP, 6)

    def drawn(n, **settings):
        return {id(eg) for eg in LowResourceCorpus(Fixed(data), n, join=1, **settings)(NLP)}

    with pytest.warns(UserWarning, match="LW012"):
        small = drawn(4)
    large = drawn(20)
    assert len(small) == 4 and len(large) == 20 and small < large
    assert drawn(20, partition=1) != large and drawn(20, seed=1) != large
    assert drawn(len(data)) == {id(eg) for eg in data}


@pytest.mark.filterwarnings("ignore:.*LW012.*")
def test_a_draw_is_uniform():
    data = examples(NLP)
    hits = np.zeros(len(data))
    for partition in range(150):
        found = {id(eg) for eg in LowResourceCorpus(Fixed(data), 2, join=1, partition=partition)(NLP)}
        hits += [id(eg) in found for eg in data]
    assert np.abs(hits / 150 - 0.25).max() < 0.12


def test_drawn_sentences_are_joined_and_a_share_out_of_reach_is_an_error():
    data = [two_sentences(NLP) for _ in range(20)]
    for reader in (LowResourceCorpus(Fixed(data), 10), ImbalancedCorpus(Fixed(data), 0.22, 10)):
        assert [len(list(eg.reference.sents)) for eg in reader(NLP)] == [2] * 5
    assert len(list(LowResourceCorpus(Fixed(data), 10, join=1)(NLP))) == 10
    with pytest.raises(ValueError, match=r"L120.*share of 0\.9"):
        list(ImbalancedCorpus(Fixed(corpus_of(NLP, 4)), 0.9, n_sentences=10)(NLP))


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_the_entity_share_is_reached(share):
    found = list(ImbalancedCorpus(Fixed(corpus_of(NLP, 20)), share, n_sentences=30)(NLP))
    counts = count_docs(eg.reference for eg in found)
    assert counts.n_units == 30
    assert abs(counts.n_entity_tokens / counts.n_tokens - share) <= 0.05 * share


def test_exchanges_look_at_length():
    """A long sentence is not exchanged for a short one."""
    data = [example("[Ann|PER] x x") for _ in range(40)] + [example("y " * 40) for _ in range(40)]
    drawn = list(LowResourceCorpus(Fixed(data), 20)(NLP))
    n_long = sum(len(eg.reference) > 10 for eg in drawn)
    with pytest.raises(ValueError, match="L120"):  # 17 short ones would have the share
        list(ImbalancedCorpus(Fixed(data), 0.1, n_sentences=20)(NLP))
    assert 0 < n_long < 20


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda c: UndersampledCorpus(c, ratio=0.5), "L001.*0.5"),
        (lambda c: RelabelledCorpus(c), "L001.*keep"),
        (lambda c: RelabelledCorpus(c, keep=["A"], drop=["B"]), "L001.*keep"),
        (lambda c: RelabelledCorpus(c, keep="PER"), "L001.*PER"),
        (lambda c: LowResourceCorpus(c, 0), "L001.*n_sentences"),
        (lambda c: LowResourceCorpus(c, 5, partition=-1), "L001.*partition"),
        (lambda c: LowResourceCorpus(c, 5, seed=None), "L001.*seed"),
        (lambda c: ImbalancedCorpus(c, 1.1), "L001.*entity_share"),
        (lambda c: list(ImbalancedCorpus(c, 0.1, 9)(NLP)), "L120.*9"),
        (lambda c: list(LowResourceCorpus(c, 9)(NLP)), "L120.*9"),
    ],
)
def test_bad_settings(build, code):
    with pytest.raises(ValueError, match=code):
        build(Fixed(examples(NLP)))


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.integers(0, 2**32))
def test_fractions_are_rounded_to_their_sum(copies, seed):
    copies = np.array(copies)
    found = rounded(copies, np.random.default_rng(seed))
    assert abs(found.sum() - copies.sum()) <= 1 + 1e-6
    assert ((found >= np.floor(copies)) & (found <= np.ceil(copies))).all()


def test_fractions_are_rounded_without_bias():
    copies = np.array([0.25, 1.5, 2.0, 0.9, 0.1])
    rng = np.random.default_rng(0)
    mean = np.mean([rounded(copies, rng) for _ in range(4000)], axis=0)
    assert np.abs(mean - copies).max() < 0.04
