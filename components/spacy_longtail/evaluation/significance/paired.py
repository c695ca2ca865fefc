"""Tests over seeds or folds: is one method ahead in more trainings than chance would have it?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from thinc.types import Floats1d

from .bootstrap import scipy_stats

DIGITS = 12  # of scores: what differs after them is rounding
N_PERMUTATIONS = 9_999  # with more sign patterns than this, as many are drawn

Scores = Sequence[float] | np.ndarray


class PairedT(NamedTuple):
    t: float
    p: float  # two-sided
    df: int


class ResampledT(NamedTuple):
    """A difference over folds."""

    mean: float
    p: float  # two-sided
    low: float  # of the 95 % interval of the mean
    high: float
    p_worse: float  # chance that the true difference is below 0, by the same t


def paired_t(first: Scores, second: Scores) -> PairedT | None:
    """Student's t of the differences of two methods over the same seeds.

    first (Scores): (n_seeds,) scores. second (Scores): The other's, same order.
    RETURNS (Optional[PairedT]): Positive where the second is ahead; null with fewer than two seeds,
        or where all differences are the same.
    """
    d = np.subtract(second, first)
    if len(d) < 2 or not np.ptp(d).round(DIGITS):
        return None
    test = scipy_stats().ttest_rel(second, first)
    return PairedT(float(test.statistic), float(test.pvalue), len(d) - 1)


def resampled_t(differences: Scores, test_share: float) -> ResampledT | None:
    """Student's t of differences over folds, its variance corrected for training data in common.

    differences (Scores): (n_folds,), or (n_folds * n_repeats,).
    test_share (float): Test examples by training examples, such as 1/4 with five folds, and 1/3
        where another of them is dev. Above 0.
    RETURNS (Optional[ResampledT]): Null with fewer than two, or where all are the same.
    SOURCE: Nadeau and Bengio 2003, section 3 (the corrected resampled t-test): the variance of the
        mean is (1 / J + n_test / n_train) times the variance of the differences.
    """
    d = np.asarray(differences, dtype="float64")
    if len(d) < 2 or not np.ptp(d).round(DIGITS):
        return None
    mean = float(d.mean())
    error = float(np.sqrt((1 / len(d) + test_share) * d.var(ddof=1)))
    student = scipy_stats().t(len(d) - 1, scale=error)
    p, border = float(2 * student.sf(abs(mean))), float(student.ppf(0.975))
    return ResampledT(mean, p, mean - border, mean + border, float(student.sf(mean)))


def paired_permutation(first: Scores, second: Scores, *, seed: int = 0) -> float:
    """How many ways to swap the methods within seeds give a mean difference as far from 0.

    first (Scores): (n_seeds,) scores. second (Scores): The other's, same order.
    seed (int): Fixes the draws where there are too many ways: up to 13 seeds, p is exact.
    RETURNS (float): p, two-sided; 2 ** (1 - n_seeds) at least.
    SOURCE: Fisher 1935, The Design of Experiments.
    """
    d = np.subtract(second, first)
    if len(d) < 2:  # scipy wants two; the two signs of one difference are as far from 0
        return 1.0
    test = scipy_stats().permutation_test(
        (d, np.zeros(len(d))),  # to swap a pair is to reverse its difference
        # rounded: sums of the same differences in another order are ties
        lambda x, y, axis: (x - y).mean(axis=axis).round(DIGITS),
        permutation_type="samples",
        vectorized=True,
        n_resamples=N_PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)


def bootstrap_standard_error(scores: Scores, *, n_draws: int = 10_000, seed: int = 0) -> float:
    """The standard error of a mean over seeds: the spread of means of redrawn scores.

    scores (Scores): (n_seeds,). n_draws (int): Bootstrap draws. seed (int): Fixes them.
    RETURNS (float): In the scores' unit; 0 for one seed, which says nothing.
    """
    values = np.asarray(scores, dtype="float64")
    drawn = np.random.default_rng(seed).integers(0, len(values), (n_draws, len(values)))
    return float(values[drawn].mean(axis=1).std())


def holm(p_values: Scores) -> Floats1d:
    """p values of several comparisons, so that a false claim among all is as rare as alpha says.

    p_values (Scores): (n_comparisons,) in [0, 1].
    RETURNS (Floats1d): (n_comparisons,) in the same order, compared with alpha as they are.
    SOURCE: Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure.
    """
    p = np.asarray(p_values, dtype="float64")
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted
