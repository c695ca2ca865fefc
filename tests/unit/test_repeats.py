import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from spacy_longtail.corpus.counts import CorpusCounts
from spacy_longtail.readers.repeats import (
    RandomOversampling,
    RandomUndersampling,
    guarded_ceil,
    nsCRD,
    sC,
    sCR,
    sCRD,
)
from spacy_longtail.types import SentenceCounts

ALL = (sC, sCR, sCRD, nsCRD)


def corpus(n_tokens, **tokens):
    counts = CorpusCounts(n_tokens=n_tokens, n_units=1)
    counts.tokens.update(tokens)
    return counts


def sentence(length, **tokens):
    return SentenceCounts(tokens, length, dict.fromkeys(tokens, 1), {})


EXAMPLE = corpus(1024, a=64, b=8)  # rareness 4 and 7 bits


CASES = {
    "worked example": (EXAMPLE, sentence(16, a=2, b=1), [4, 5, 5, 5], [4, 4, 4, 4]),
    "an entity of white space alone": (EXAMPLE, sentence(0, a=0), [1] * 4, [1] * 4),
    "as in a part that was not counted": (EXAMPLE, sentence(4, unseen=4), [5, 1, 1, 1], [5, 1, 1, 1]),
    "a type on every token": (corpus(10, a=10), sentence(10, a=10), [11, 1, 1, 1], [11, 1, 1, 1]),
    "code may leave one copy": (corpus(16, a=1), sentence(25, a=1), [2, 3, 2, 2], [2, 3, 1, 1]),
    "up to a length": (corpus(16, a=1), sentence(24, a=1), [2, 3, 2, 2], [2, 3, 2, 2]),
}


@pytest.mark.parametrize(("counts", "unit", "paper", "code"), CASES.values(), ids=CASES)
def test_numbers_of_copies_are_those_of_the_paper_and_its_code(counts, unit, paper, code):
    assert [policy().fit(counts)(unit) for policy in ALL] == paper
    assert [policy(formula="code").fit(counts)(unit) for policy in ALL] == code


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (6 * math.sqrt(2) / math.sqrt(18), 2),  # a float just above 2
        (1_000_000.0005, 1_000_000),  # the distance counts in relation to the value
        (1_000_000.002, 1_000_001),
        (1 + 5e-10, 1),
        (0.5 + 1.5e-9, 1),
        (1 + 1.5e-9, 2),
        (2.001, 3),
        (1.999, 2),
        (0.0, 0),
    ],
)
def test_a_value_next_to_an_integer_is_that_integer(value, expected):
    assert guarded_ceil(value) == expected


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize("formula", ["paper", "code"])
@given(length=st.integers(1, 60), a=st.integers(0, 9), b=st.integers(0, 9), cap=st.integers(1, 5))
def test_every_sentence_stays_and_the_cap_holds(policy, formula, length, a, b, cap):
    unit = sentence(length, **{t: n for t, n in (("a", a), ("b", b)) if n})
    free = policy(formula=formula).fit(EXAMPLE)(unit)
    assert free >= 1
    assert policy(formula=formula, cap=cap).fit(EXAMPLE)(unit) == min(free, cap)
    if not a and not b:
        assert free == 1


@given(bits=st.integers(1, 12), root=st.integers(1, 12), side=st.integers(1, 12))
def test_whole_numbers_are_met_exactly(bits, root, side):
    """At the edges of the ceiling, where floats are off by a hair in both directions."""
    n, rare = 2**bits * 1024, 1024  # rareness: `bits`, exactly
    count = bits * root**2  # sum r c = (bits root)**2
    assert sCR().fit(corpus(n, a=rare))(sentence(count, a=count)) == 1 + bits * root
    assert (
        sCR("code").fit(corpus(n, a=rare))(sentence(count, a=count))
        == math.isqrt((bits * root) ** 2) + 1
    )
    assert sCRD().fit(corpus(n, a=rare))(sentence(side**2, a=side * root)) == 1 + bits * root
    # r sqrt(c) / sqrt(l) with c = root**2 k, l = side**2 k: r root / side
    for k in (1, 2, 3, 18):
        found = nsCRD().fit(corpus(n, a=rare))(sentence(side**2 * k, a=root**2 * k))
        assert found == 1 + math.ceil(Fraction(bits * root, side))


def test_by_default_sentences_with_and_without_entities_become_equally_many():
    counts = CorpusCounts(n_tokens=20, n_units=4, n_entity_units=1)
    counts.tokens["a"] = 1

    assert RandomOversampling().fit(counts)(sentence(5, a=1)) == 3


@given(n_entity=st.integers(1, 500), n_bare=st.integers(0, 500), ratio=st.floats(0.1, 5))
def test_random_policies_reach_their_ratio(n_entity, n_bare, ratio):
    counts = CorpusCounts(n_tokens=9999, n_units=n_entity + n_bare, n_entity_units=n_entity)
    counts.tokens["a"] = n_entity
    with_entity, without = sentence(5, a=1), sentence(5)
    over, under = RandomOversampling(ratio).fit(counts), RandomUndersampling(ratio).fit(counts)
    assert over(without) == 1 and over(with_entity) >= 1
    assert under(with_entity) == 1 and 0 < under(without) <= 1
    for fitted in (over, under):
        found = fitted(with_entity) * n_entity, ratio * fitted(without) * n_bare
        if n_entity < ratio * n_bare:  # else nothing has to change
            assert found[0] == pytest.approx(found[1])
        else:
            assert fitted(with_entity) == 1 and (not n_bare or fitted(without) == 1)


@pytest.mark.parametrize("policy", [sCR, RandomUndersampling])
def test_an_empty_corpus_stays_empty_and_one_without_entities_is_refused(policy):
    policy().fit(CorpusCounts())
    with pytest.raises(ValueError, match="L101"):
        policy().fit(CorpusCounts(n_tokens=5, n_units=2))


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        *((sC, {"cap": 0}), (sC, {"cap": 1.5}), (sC, {"formula": "other"})),
        *((RandomOversampling, {"ratio": ratio}) for ratio in (0, "nan", None, 1000.5)),
    ],
)
def test_bad_settings(policy, settings):
    with pytest.raises(ValidationError):
        policy(**settings)
