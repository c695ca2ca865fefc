import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.operating_points import (
    best_f,
    fit_curve,
    for_precision,
    for_recall,
    log_odds,
    points,
    reliability,
    sigmoid,
)

SCORES = np.array([0.9, 0.8, 0.8, 0.6, 0.3])
RIGHT = np.array([1, 0, 1, 1, 0])


def test_every_way_to_cut_is_there_once_with_its_precision_and_recall():
    found = points(SCORES, RIGHT, 4)
    assert [p.n_kept for p in found] == [1, 3, 4, 5]  # the two of 0.8 stay together
    assert [p.precision for p in found] == pytest.approx([1, 2 / 3, 3 / 4, 3 / 5])
    assert [p.recall for p in found] == pytest.approx([1 / 4, 2 / 4, 3 / 4, 3 / 4])
    assert [p.threshold for p in found] == pytest.approx([0.9, 0.8, 0.6, 0.0], abs=1.1e-4)
    for p in found:
        assert (p.threshold <= SCORES).sum() == p.n_kept


def test_goals_choose_their_cut():
    found = points(SCORES, RIGHT, 4)
    assert best_f(found).n_kept == 4  # F1 3/4 against 2/3 and below
    assert best_f(found, beta=0.1).n_kept == 1
    assert for_recall(found, 0.5).n_kept == 3  # the highest threshold that is enough
    assert for_recall(found, 0.76) is None  # what no candidate finds, no threshold brings back
    assert for_precision(found, 0.7).n_kept == 4
    assert for_precision(found, 1.0).n_kept == 1
    assert for_precision(points(SCORES, np.zeros(5), 4), 0.1) is None
    assert best_f([]) is None and for_recall([], 0.1) is None


def test_a_threshold_bears_the_rounding_of_another_batch():
    scores = np.random.default_rng(0).random(50)
    scores = scores[np.append(np.diff(np.sort(scores)) > 1e-3, True)]
    for p in points(scores, np.ones(len(scores)), len(scores)):
        for noise in (-1e-6, 1e-6):
            assert (scores + noise >= p.threshold).sum() == p.n_kept


def test_f_beta():
    point = points(np.array([0.9, 0.5]), np.array([1, 0]), 1)[-1]  # precision 1/2, recall 1
    assert point.f() == pytest.approx(2 / 3)
    assert point.f(2.0) == pytest.approx(5 / 6)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.50001, 0.9, 1.0]), st.booleans()), max_size=12),
    st.integers(0, 5),
)
def test_points_agree_with_counting(drawn, more):
    scores = np.array([s for s, _ in drawn])
    right = np.array([int(r) for _, r in drawn], dtype="int64")
    n_gold = int(right.sum()) + more
    found = points(scores, right, n_gold)
    assert len(found) == len(set(scores.tolist()))
    for p in found:
        kept = scores >= p.threshold
        assert kept.sum() == p.n_kept
        assert p.precision == pytest.approx(right[kept].mean())
        assert p.recall == pytest.approx(right[kept].sum() / n_gold if n_gold else 0)
    if found:
        assert found[-1].threshold == 0 and found[-1].n_kept == len(scores)


def test_a_curve_is_found_again():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 40_000)
    right = (rng.random(40_000) < sigmoid(0.5 * logits - 1.5)).astype(int)
    slope, shift = fit_curve(logits, right)
    assert slope == pytest.approx(0.5, abs=0.02) and shift == pytest.approx(-1.5, abs=0.04)
    before, after = (
        reliability(sigmoid(logits), right),
        reliability(sigmoid(slope * logits + shift), right),
    )
    assert after.error < 0.01 < 0.2 < before.error
    assert after.brier < before.brier


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


def test_separable_data_has_a_finite_curve_and_the_wrong_order_a_shift_alone():
    logits = np.array([-2.0, -1.0, 1.0, 2.0] * 5)
    slope, shift = fit_curve(logits, (logits > 0).astype(int))
    assert 0 < slope < 20 and abs(shift) < 1e-6
    right = (logits < 0).astype(int)
    right[:2] = 0
    slope, shift = fit_curve(logits, right)
    assert slope == 1
    # as many are expected to be right as are, but for the smoothing of the targets
    assert sigmoid(logits + shift).sum() == pytest.approx(8 * 9 / 10 + 12 / 14, abs=1e-6)


def test_calibration_error_by_hand():
    found = reliability(np.array([0.95, 0.92, 0.15, 1.0]), np.array([1, 0, 0, 1]))
    # bins 1-2 and 9-10: |0 - 0.15| * 1/4 + |2/3 - 0.95667| * 3/4
    assert found.error == pytest.approx(0.0375 + 0.75 * (2.87 / 3 - 2 / 3))
    assert found.bins == [
        (1, pytest.approx(0.15), 0.0),
        (3, pytest.approx(2.87 / 3), pytest.approx(2 / 3)),
    ]
    assert found.brier == pytest.approx((0.05**2 + 0.92**2 + 0.15**2) / 4)
    assert reliability(np.zeros(0), np.zeros(0)).error == 0.0


def test_log_odds_of_certainty_are_finite():
    z = log_odds(np.array([0.0, 0.5, 1.0]))
    assert np.isfinite(z).all() and z[1] == 0 and sigmoid(z)[2] > 0.99999


def test_no_curve_is_too_steep_for_a_score():
    with np.errstate(over="raise", invalid="raise"):
        assert sigmoid(646 * log_odds(np.array([0.01, 0.5, 0.99]))).tolist() == [0, 0.5, 1]
