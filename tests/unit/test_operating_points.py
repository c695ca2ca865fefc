import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.numerics import sigmoid
from spacy_longtail.pipes.scores.thresholds import (
    N_DIGITS,
    SLACK,
    TIE,
    as_stored,
    best_f,
    calibration_error,
    fit_curve,
    for_precision,
    for_recall,
    for_share,
    points,
)

SCORES = np.array([0.9, 0.8, 0.8, 0.6, 0.3])
RIGHT = np.array([1, 0, 1, 1, 0])


def test_cuts_by_hand():
    found = points(SCORES, RIGHT, 4)
    assert [p.n_kept for p in found] == [1, 3, 4, 5]  # the two of 0.8 stay together
    assert [p.precision for p in found] == pytest.approx([1, 2 / 3, 3 / 4, 3 / 5])
    assert [p.recall for p in found] == pytest.approx([1 / 4, 2 / 4, 3 / 4, 3 / 4])
    assert [p.threshold for p in found] == pytest.approx([0.9, 0.8, 0.6, 0.0], abs=1.1e-4)
    for p in found:
        assert (p.threshold <= SCORES).sum() == p.n_kept


FOUND = points(SCORES, RIGHT, 4)


@pytest.mark.parametrize(
    ("goal", "given", "n_kept"),
    [
        (best_f, (), 4),  # F1 3/4 against 2/3 and below
        (best_f, (0.1,), 1),  # beta
        (for_recall, (0.5,), 3),  # the highest threshold that is enough
        (for_precision, (0.7,), 4),
        (for_precision, (1.0,), 1),
        (for_share, (0.2,), 1),
        (for_share, (0.75,), 3),
        (for_share, (1,), 5),
    ],
)
def test_goals_by_hand(goal, given, n_kept):
    assert goal(FOUND, *given).n_kept == n_kept


@pytest.mark.parametrize(
    ("goal", "cuts", "given"),
    [
        (for_recall, FOUND, (0.76,)),  # what no candidate finds, no threshold brings back
        (for_precision, points(SCORES, np.zeros(5), 4), (0.1,)),
        (for_share, FOUND, (0.1,)),  # even the first is more than a tenth
        (best_f, [], ()),
        (for_recall, [], (0.1,)),
        (for_share, [], (0.5,)),
    ],
)
def test_goals_that_no_threshold_reaches(goal, cuts, given):
    assert goal(cuts, *given) is None


@given(
    st.lists(
        st.one_of(
            st.floats(0, 1),
            st.integers(0, 40).map(lambda i: 0.5 + i * 0.4e-6),  # some closer than a tie, some not
            st.integers(0, 40).map(lambda i: 0.9 + i * 0.3e-4),  # some closer than the slack
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_threshold_lies_between_the_last_it_keeps_and_the_first_it_drops(drawn):
    scores = np.array(drawn)
    ranked = np.sort(scores)[::-1]
    found = points(scores, np.ones(len(scores)), len(scores))
    gaps = ranked[:-1] - ranked[1:]
    assert [p.n_kept for p in found] == [*(np.flatnonzero(gaps > TIE) + 1).tolist(), len(scores)]
    for p in found[:-1]:
        last, first_dropped = ranked[p.n_kept - 1], ranked[p.n_kept]
        assert first_dropped < p.threshold < last
        below = min(SLACK, (last - first_dropped) / 2)
        assert last - p.threshold == pytest.approx(below, abs=10.0**-N_DIGITS)
    assert found[-1].threshold == 0


def numbers(n):
    """Thresholds, slopes and shifts as they come: of every size, and some with few digits."""
    rng = np.random.default_rng(0)
    scores, curves = rng.random(n // 2), rng.normal(size=n // 4) * 10.0 ** rng.uniform(-6, 6, n // 4)
    digits = np.resize(np.arange(N_DIGITS), n // 4)
    few = [round(x, int(d)) for x, d in zip(rng.uniform(-20, 20, n // 4).tolist(), digits, strict=True)]
    return [*scores.tolist(), *curves.tolist(), *few]


def test_stored_numbers_are_the_same_after_writing_and_reading():
    drawn = numbers(100_000)
    stored = [as_stored(x) for x in drawn]
    assert stored == pytest.approx([round(x, N_DIGITS) for x in drawn], rel=1e-15, abs=0)
    assert srsly.json_loads(srsly.json_dumps(stored)) == stored
    assert [as_stored(x) for x in stored[:1000]] == stored[:1000]


def test_a_curve_is_found_again_and_is_finite_for_separable_data():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 40_000)
    right = (rng.random(40_000) < sigmoid(0.5 * logits - 1.5)).astype(int)
    slope, shift = fit_curve(logits, right)
    assert slope == pytest.approx(0.5, abs=0.02) and shift == pytest.approx(-1.5, abs=0.04)
    before = calibration_error(sigmoid(logits), right)
    assert calibration_error(sigmoid(slope * logits + shift), right) < 0.01 < 0.2 < before
    logits = np.array([-2.0, -1.0, 1.0, 2.0] * 5)
    slope, shift = fit_curve(logits, (logits > 0).astype(int))
    assert 0 < slope < 20 and abs(shift) < 1e-6
    right = (logits < 0).astype(int)
    right[:2] = 0
    slope, shift = fit_curve(logits, right)
    assert slope == 1
    # as many are expected to be right as are, but for the smoothing of the targets
    assert sigmoid(logits + shift).sum() == pytest.approx(8 * 9 / 10 + 12 / 14, abs=1e-6)


def test_a_curve_agrees_with_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    logits = rng.normal(1, 3, 500)
    right = (rng.random(500) < sigmoid(0.7 * logits - 0.5)).astype(int)
    n = int(right.sum())
    # the smoothed targets as weighted copies of both outcomes
    target = np.where(right, (n + 1) / (n + 2), 1 / (500 - n + 2))
    oracle = linear_model.LogisticRegression(C=1e12, tol=1e-10, max_iter=1000)
    oracle.fit(
        np.concatenate([logits, logits])[:, None],
        np.repeat([1, 0], 500),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    assert fit_curve(logits, right) == pytest.approx(
        (float(oracle.coef_[0, 0]), float(oracle.intercept_[0])), abs=1e-4
    )


@pytest.mark.parametrize(
    ("logits", "n_right"),
    [([10.0] * 50 + [-10.0], 1), ([13.8, 13.7, -13.8], 2), ([-9.0] * 30, 29), ([1.5] * 20, 5)],
)
def test_a_curve_is_found_however_far_away_it_lies(logits, n_right):
    """Where plain Newton steps run away, and where all scores are the same."""
    logits = np.array(logits)
    right = np.zeros(len(logits), dtype="int64")
    right[len(logits) - n_right :] = 1
    slope, shift = fit_curve(logits, right)
    n_wrong = len(logits) - n_right
    smoothed = n_right * (n_right + 1) / (n_right + 2) + n_wrong / (n_wrong + 2)
    assert sigmoid(slope * logits + shift).sum() == pytest.approx(smoothed, abs=1e-6)


def test_calibration_error_by_hand():
    found = calibration_error(np.array([0.95, 0.92, 0.15, 1.0]), np.array([1, 0, 0, 1]))
    # bins 1-2 and 9-10: |0 - 0.15| * 1/4 + |2/3 - 0.95667| * 3/4
    assert found == pytest.approx(0.0375 + 0.75 * (2.87 / 3 - 2 / 3))
    assert calibration_error(np.zeros(0), np.zeros(0)) == 0.0
