import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.counts import CorpusCounts
from spacy_longtail.repeats import guarded_ceil, nsCRD, sC, sCR, sCRD
from spacy_longtail.types import SentenceCounts

ALL = (sC, sCR, sCRD, nsCRD)


def corpus(n_tokens, **tokens):
    counts = CorpusCounts(n_tokens=n_tokens, n_units=1)
    counts.tokens.update(tokens)
    return counts


def sentence(length, **tokens):
    return SentenceCounts(tokens, length, dict.fromkeys(tokens, 1), {})


EXAMPLE = corpus(1024, a=64, b=8)  # rareness 4 and 7 bits


@pytest.mark.parametrize(("formula", "expected"), [("paper", [4, 5, 5, 5]), ("code", [4, 4, 4, 4])])
def test_worked_example(formula, expected):
    unit = sentence(16, a=2, b=1)
    assert [policy(formula=formula).fit(EXAMPLE)(unit) for policy in ALL] == expected


def test_a_value_next_to_an_integer_is_that_integer():
    value = 6 * math.sqrt(2) / math.sqrt(18)
    assert value > 2  # the trap
    assert guarded_ceil(value) == 2
    assert guarded_ceil(2.001) == 3 and guarded_ceil(1.999) == 2 and guarded_ceil(0.0) == 0
    assert nsCRD().fit(corpus(64, a=1))(sentence(18, a=2)) == 3


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


@pytest.mark.parametrize("policy", [sCR, sCRD, nsCRD])
def test_rarer_types_get_more_copies(policy):
    fitted = policy().fit(EXAMPLE)
    assert fitted(sentence(4, b=2)) > fitted(sentence(4, a=2))


def test_code_can_leave_an_entity_sentence_at_one_copy():
    fitted = sCRD(formula="code").fit(corpus(16, a=1))
    assert fitted(sentence(25, a=1)) == 1 and fitted(sentence(24, a=1)) == 2


def test_a_type_on_every_token_counts_in_sc_only():
    whole = corpus(10, a=10)
    assert [policy().fit(whole)(sentence(10, a=10)) for policy in ALL] == [11, 1, 1, 1]


def test_an_empty_corpus_stays_empty_and_one_without_entities_is_refused():
    sCR().fit(CorpusCounts())
    with pytest.raises(ValueError, match="L101"):
        sCR().fit(CorpusCounts(n_tokens=5, n_units=2))


@pytest.mark.parametrize("settings", [{"cap": 0}, {"cap": True}, {"cap": 1.5}, {"formula": "other"}])
def test_bad_settings(settings):
    with pytest.raises(ValueError, match="L001"):
        sC(**settings)
