"""Which trainings ended too early to say what their method is worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.evaluation.convergence import no_verdict, rising_of, still_rising


def curve(*scores, every=100):
    return [{"step": 0, "ents_macro_f": 0.0}] + [
        {"step": every * i, "ents_macro_f": score, "ents_f": 0.5} for i, score in enumerate(scores, 1)
    ]


def test_a_training_that_found_nothing_is_too_short():
    found = still_rising(curve(0.0, 0.0, 0.0))
    assert (found.why, found.more, found.steps) == ("has found nothing yet", 300, 300)


def test_a_rise_over_a_few_evaluations_is_too_short():
    found = still_rising(curve(0.1, 0.3, 0.4, 0.5))
    assert found.why == "still rose by 10.0 points in 100 steps"
    assert (found.more, found.steps) == (200, 400)
    one = still_rising(curve(0.3))
    assert (one.why, one.more, one.steps) == ("had 1 evaluation alone", 200, 100)
    assert still_rising(curve(0.3, 0.4)).why == "had 2 evaluations alone"
    assert still_rising(curve(0.4, 0.3)) is None


def test_a_best_checkpoint_at_the_end_may_be_chance():
    """Of k evaluations that vary by chance alone the last is the best in one of k trainings."""
    assert still_rising(curve(0.50, 0.49, 0.51, 0.48, 0.50, 0.52)) is None
    rng = np.random.default_rng(0)
    for k in (4, 6, 10):
        noise = 0.5 + rng.normal(0, 0.01, (1000, k))
        rate = np.mean([still_rising(curve(*scores)) is not None for scores in noise])
        assert rate < 0.06, (k, rate)


def test_a_training_that_was_better_before_has_ended():
    assert still_rising(curve(0.1, 0.5, 0.45, 0.47, 0.44)) is None
    assert still_rising(curve(0.5, 0.5, 0.5)) is None  # a tie is no rise


def test_a_slope_above_the_noise_is_too_short():
    steady = [0.02 * i for i in range(1, 18)] + [0.33]
    found = still_rising(curve(*steady))
    assert found.why == "still rose by 1.6 points in 100 steps"
    assert found.more == 900
    noisy = [0.1, 0.3, 0.50, 0.42, 0.55, 0.41, 0.45, 0.54, 0.44]
    assert still_rising(curve(*noisy)) is None
    assert still_rising(curve(0.1, 0.4, 0.39, 0.4)) is None


def test_patience_ends_a_training_that_found_something():
    fallen = curve(0.1, 0.3, 0.5, 0.6, *(0.52 + 0.005 * i for i in range(14)))
    assert still_rising(fallen) is not None
    assert still_rising(fallen, patience=1400) is None
    assert still_rising(fallen, patience=1500) is not None  # it did not end by itself
    assert still_rising(curve(0.0, 0.0), patience=100) is not None


def test_without_scores_nothing_is_said():
    assert still_rising([]) is None
    assert still_rising([{"step": 100, "ents_f": 0.5}]) is None


@given(
    scores=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    every=st.integers(1, 500),
    patience=st.integers(0, 5000),
)
def test_more_steps_are_whole_evaluations(scores, every, patience):
    found = still_rising(curve(*scores, every=every), patience)
    if found is not None:
        assert found.more > 0 and found.more % every == 0
        assert found.steps == every * len(scores)
    if max(scores) <= 0:
        assert found is not None


@pytest.mark.parametrize(("slope", "share"), [(0.0, 0.1), (0.005, 0.9)])
def test_flat_curves_seldom_rise_and_steep_ones_do(slope, share):
    rng = np.random.default_rng(0)
    curves = 0.5 + slope * np.arange(30) + rng.normal(0, 0.01, (400, 30))
    rate = float(np.mean([still_rising(curve(*scores)) is not None for scores in curves]))
    assert rate < share if slope == 0 else rate > share, rate


def runs(*curves, patience=0):
    return [{"curve": own, "training": {"patience": patience}} for own in curves]


def test_most_runs_decide():
    rising, ended = curve(0.1, 0.2, 0.3), curve(0.3, 0.2, 0.1)
    longer = curve(0.1, 0.2, 0.3, 0.4, 0.5)
    assert rising_of(runs(rising, ended)) is None
    assert rising_of(runs(rising, longer, ended)).steps == 500  # the one that needs the most
    assert rising_of(runs(ended, ended, rising)) is None
    assert rising_of([{"curve": None, "training": None}, {}]) is None


def test_why_there_is_no_verdict():
    found = {"ner": rising_of(runs(curve(0.0))), "crf": rising_of(runs(curve(0.1, 0.2, 0.3)))}
    assert no_verdict(found) == (
        "Not trained long enough: ner has found nothing yet, crf still rose by 10.0 points in 100 steps."
        " It takes 200 steps more at least, 500 in all."
    )
    assert no_verdict({"ner": None}) == no_verdict({}) == ""
