"""A test over folds: their trainings share data, which a plain t test does not know."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import Errors
from .bootstrap import scipy_stats
from .paired import DIGITS


class ResampledT(NamedTuple):
    """A difference over folds."""

    mean: float
    t: float
    df: int
    p: float  # two-sided
    low: float  # of the 95 % interval of the mean
    high: float
    p_worse: float  # chance that the true difference is below 0, by the same t


def resampled_t(
    differences: Sequence[float] | np.ndarray, test_share: float, *, level: float = 0.95
) -> ResampledT | None:
    """Student's t of differences over folds, its variance corrected for training data in common.

    differences (Sequence[float]): (n_folds,), or (n_folds * n_repeats,).
    test_share (float): Test examples by training examples, such as 1/4 with five folds, and 1/3 where
        another of them is dev.
    level (float): Of the interval.
    RETURNS (Optional[ResampledT]): Null with fewer than two, or where all are the same.
    SOURCE: Nadeau and Bengio 2003, section 3 (the corrected resampled t-test): the variance of the mean
        is (1 / J + n_test / n_train) times that of the differences.
    """
    d = np.asarray(differences, dtype="float64")
    if not (math.isfinite(test_share) and test_share > 0):
        fix = "With k folds it is 1 / (k - 1), or 1 / (k - 2) where one is dev."
        raise ValueError(
            Errors.L001.format(name="test_share", rule="above 0", value=test_share, fix=fix)
        )
    if len(d) < 2 or not np.ptp(d).round(DIGITS):
        return None
    stats = scipy_stats()
    df, mean = len(d) - 1, float(d.mean())
    error = math.sqrt((1 / len(d) + test_share) * float(d.var(ddof=1)))
    t = mean / error
    border = float(stats.t.ppf((1 + level) / 2, df)) * error
    return ResampledT(
        mean,
        t,
        df,
        float(2 * stats.t.sf(abs(t), df)),
        mean - border,
        mean + border,
        float(stats.t.sf(t, df)),
    )
