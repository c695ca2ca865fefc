"""Tests over seeds: is one method ahead in more trainings than chance would have it?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from thinc.types import Floats1d

from ...errors import Errors
from .bootstrap import scipy_stats

DIGITS = 12  # of scores: what differs after them is rounding
N_PERMUTATIONS = 9_999  # with more sign patterns than this, as many are drawn

Scores = Sequence[float] | np.ndarray


class PairedT(NamedTuple):
    t: float
    p: float  # two-sided
    df: int


def paired_t(first: Scores, second: Scores) -> PairedT | None:
    """Student's t of the differences of two methods over the same seeds.

    first (Scores): (n_seeds,) scores. second (Scores): The other's, same order.
    RETURNS (Optional[PairedT]): Positive where the second is ahead; null with fewer than two seeds,
        or where all differences are the same.
    """
    d = _differences(first, second)
    if len(d) < 2 or not np.ptp(d).round(DIGITS):
        return None
    found = scipy_stats().ttest_rel(second, first)
    return PairedT(float(found.statistic), float(found.pvalue), len(d) - 1)


def paired_permutation(first: Scores, second: Scores, *, seed: int = 0) -> float:
    """How many ways to swap the methods within seeds give a mean difference as far from 0.

    first (Scores): (n_seeds,) scores. second (Scores): The other's, same order.
    seed (int): Fixes the draws where there are too many ways: up to 13 seeds, p is exact.
    RETURNS (float): p, two-sided; 2 ** (1 - n_seeds) at least.
    SOURCE: Fisher 1935, The Design of Experiments.
    """
    d = _differences(first, second)
    if len(d) < 2:  # scipy wants two; the two signs of one difference are as far from 0
        return 1.0
    found = scipy_stats().permutation_test(
        (d, np.zeros(len(d))),  # to swap a pair is to reverse its difference
        # rounded: sums of the same differences in another order are ties
        lambda x, y, axis: (x - y).mean(axis=axis).round(DIGITS),
        permutation_type="samples",
        vectorized=True,
        n_resamples=N_PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def bootstrap_standard_error(scores: Scores, *, n_draws: int = 10_000, seed: int = 0) -> float:
    """The standard error of a mean over seeds, as the spread of means of redrawn scores.

    scores (Scores): (n_seeds,).
    n_draws (int): Bootstrap draws.
    seed (int): Fixes them.
    RETURNS (float): In the scores' unit; 0 for one seed, which says nothing.
    """
    own = _seeds("scores", scores)
    drawn = np.random.default_rng(seed).integers(0, len(own), (n_draws, len(own)))
    return float(own[drawn].mean(axis=1).std())


def holm(p_values: Scores) -> Floats1d:
    """p values of several comparisons, so that a false claim among all is as rare as alpha says.

    p_values (Scores): (n_comparisons,) in [0, 1].
    RETURNS (Floats1d): (n_comparisons,) in the same order, compared with alpha as they are.
    SOURCE: Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure.
    """
    p = np.asarray(p_values, dtype="float64")
    if not ((p >= 0) & (p <= 1)).all():  # catches NaN too
        fix = "Leave out comparisons without a test."
        raise ValueError(
            Errors.L001.format(name="p_values", rule="from 0 to 1", value=p_values, fix=fix)
        )
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def _differences(first: Scores, second: Scores) -> np.ndarray:
    one, two = _seeds("first", first), _seeds("second", second)
    if len(one) != len(two):
        fix = "Give the scores of the same seeds."
        rule = f"{len(one)} scores, as the first has"
        raise ValueError(Errors.L001.format(name="second", rule=rule, value=len(two), fix=fix))
    return two - one


def _seeds(name: str, scores: Scores) -> np.ndarray:
    found = np.asarray(scores, dtype="float64")
    if found.ndim != 1 or not len(found):
        fix = "Give one score a seed."
        raise ValueError(Errors.L001.format(name=name, rule="a row of scores", value=scores, fix=fix))
    return found
