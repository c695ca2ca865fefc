"""A budget against counting by hand, and what it promises of any stream."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.pipes.gate import budget as module
from spacy_longtail.pipes.gate.budget import BURST, N_START, Budget, start_scores

score = st.floats(0, 2, width=16)
scores = st.lists(score, max_size=60)
rising = st.lists(score, min_size=30, max_size=60).map(sorted)  # the worst case of a budget
shares = st.sampled_from([0.03, 0.1, 0.29, 0.5, 1.0])


def by_counting(share, start, stream, window):
    """What `Budget` says, each decision from nothing."""
    flags = []
    for i, own in enumerate(stream):
        recent = [*start, *stream[:i]][-window:]
        is_rare = (sum(other >= own for other in recent) + 1) <= share * (len(recent) + 1) + 1e-9
        flags.append(is_rare and sum(flags) + 1 <= share * (i + 1) + BURST)
    return flags


@given(share=shares, start=scores, stream=scores | rising, window=st.sampled_from([5, 20, 10_000]))
def test_decisions_are_those_of_counting(share, start, stream, window):
    start, stream = ([round(value, 6) for value in own] for own in (start, stream))
    with patch.object(module, "WINDOW", window):
        budget = Budget(share, start)
        found = budget.flag(np.asarray(stream)).tolist()
    assert found == by_counting(share, start[-window:], stream, window)
    assert (budget.n_seen, budget.n_flagged) == (len(stream), sum(found))


@given(share=shares, start=scores, stream=scores, cuts=st.lists(st.integers(0, 60), max_size=5))
def test_batches_do_not_matter(share, start, stream, cuts):
    whole, parts = Budget(share, start), Budget(share, start)
    expected = whole.flag(np.asarray(stream)).tolist()
    assert [
        f for part in np.split(np.asarray(stream), sorted(cuts)) for f in parts.flag(part)
    ] == expected
    assert (parts.n_seen, parts.n_flagged) == (whole.n_seen, whole.n_flagged)


def test_what_is_high_follows_the_stream_and_ties_are_left_out():
    """After the scores have doubled, the budget is still kept, and still used."""
    rng = np.random.default_rng(0)
    budget = Budget(0.1, rng.random(2000))
    budget.flag(rng.random(5000))
    assert 0.08 < budget.flag(2 * rng.random(40_000))[20_000:].mean() < 0.11
    assert budget.n_flagged <= 0.1 * budget.n_seen + BURST
    assert not Budget(0.5, np.zeros(100)).flag(np.zeros(50)).any()
    assert Budget(1.0).flag(np.zeros(50)).all()
    assert Budget(0.1, np.zeros(100)).flag(np.asarray([1e-9, 1.0])).tolist() == [False, True]


def test_many_start_scores_are_quantiles_in_no_order():
    own = np.random.default_rng(1).exponential(size=10 * N_START)
    kept = start_scores(own)
    assert len(kept) == N_START and kept == start_scores(own[::-1])
    for q in (0.01, 0.5, 0.97, 0.999):
        assert np.quantile(kept, q) == pytest.approx(np.quantile(own, q), rel=0.1, abs=1e-3)
    assert abs(np.corrcoef(np.arange(N_START), kept)[0, 1]) < 0.1
