"""Which trainings ended too early to say what their method is worth."""

import numpy as np
import pytest

from spacy_longtail.evaluation.convergence import no_verdict, rising_of, still_rising


def curve(*scores):
    return [{"step": 0, "ents_macro_f": 0.0}] + [
        {"step": 50 * i, "ents_macro_f": score, "ents_f": 0.5} for i, score in enumerate(scores, 1)
    ]


FALLEN = (0.1, 0.3, 0.5, 0.6, *(0.52 + 0.005 * i for i in range(14)))


@pytest.mark.parametrize(
    ("scores", "patience", "why"),
    [
        ((0.0, 0.0, 0.0), 0, "has found nothing on dev yet"),
        ((0.0, 0.0), 100, "has found nothing on dev yet"),
        ((0.1, 0.3, 0.4, 0.5), 0, "still rose by 10.0 points between its last two evaluations"),
        *(((0.3,), 0, "was evaluated only once"), ((0.3, 0.4), 0, "was evaluated only twice")),
        *(((0.4, 0.3), 0, ""), ((0.1, 0.4, 0.39, 0.4), 0, ""), ((), 0, "")),
        ((0.50, 0.49, 0.51, 0.48, 0.50, 0.52), 0, ""),  # the best at the end may be chance
        ((0.1, 0.5, 0.45, 0.47, 0.44), 0, ""),  # it was better before
        ((0.5, 0.5, 0.5), 0, ""),  # a tie is no rise
        ((*(0.02 * i for i in range(1, 18)), 0.33), 0, "still rose over its last 6 evaluations"),
        ((0.1, 0.3, 0.50, 0.42, 0.55, 0.41, 0.45, 0.54, 0.44), 0, ""),
        (FALLEN, 0, "still rose by 0.5 points between its last two evaluations"),
        (FALLEN, 700, ""),  # it ended by itself
        (FALLEN, 750, "still rose by 0.5 points between its last two evaluations"),
    ],
)
def test_trainings_that_ended_too_early_are_recognised(scores, patience, why):
    assert still_rising(curve(*scores), patience) == why
    assert still_rising([{"step": 100, "ents_f": 0.5}]) == ""


@pytest.mark.parametrize(("slope", "n", "share"), [(0.0, 4, 0.06), (0.0, 30, 0.1), (0.005, 30, 0.9)])
def test_flat_curves_seldom_rise_and_steep_ones_do(slope, n, share):
    curves = 0.5 + slope * np.arange(n) + np.random.default_rng(0).normal(0, 0.01, (400, n))
    rate = float(np.mean([bool(still_rising(curve(*scores))) for scores in curves]))
    assert rate < share if slope == 0 else rate > share, rate


def runs(*curves, patience=0):
    return [(own, patience) for own in curves]


def test_the_majority_of_runs_decides_whether_a_method_is_rising():
    rising, ended = curve(0.1, 0.2, 0.3), curve(0.3, 0.2, 0.1)
    assert rising_of(runs(rising, ended)) == rising_of(runs(ended, ended, rising)) == ""
    assert (
        rising_of(runs(rising, rising, ended))
        == "still rose by 10.0 points between its last two evaluations"
    )
    assert rising_of(runs([], [])) == rising_of([]) == ""
    assert "crf still rose" in no_verdict({"ner": "", "crf": rising_of(runs(rising))})
    assert no_verdict({"ner": ""}) == no_verdict({}) == ""
