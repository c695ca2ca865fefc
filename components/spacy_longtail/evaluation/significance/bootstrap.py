"""The bootstrap over documents or sentences: intervals of scores and of differences."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ...extras import extra
from .metrics import Metric

LEVEL = 0.95  # of intervals; alpha is the rest
TAILS = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
MEMORY = 64 * 2**20  # bytes of weights and sums at a time
ROUNDING = 1e-12  # scores nearer than this are the same


class Interval(NamedTuple):
    value: float
    low: float
    high: float


class Difference(NamedTuple):
    value: float  # second minus first, in [-1, 1]
    low: float
    high: float
    p: float  # two-sided; at most 1 - LEVEL exactly where the interval leaves out 0


def intervals(
    counts: np.ndarray, metrics: Mapping[str, Metric], *, n_draws: int = 10_000, seed: int = 0
) -> dict[str, Interval]:
    """95 % BCa intervals: how far each score would move with other documents of the same kind.

    counts (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`. Scores are seed means.
    metrics (Mapping[str, Metric]): Scores by name; all are computed from the same draws.
    n_draws (int): Bootstrap draws. seed (int): Fixes the draws.
    RETURNS (Dict[str, Interval]): In [0, 1]; of percentiles where BCa is not defined.
    SOURCE: Efron 1987, Better Bootstrap Confidence Intervals.
    """
    counts = counts.astype("float64")
    ((values, draws),) = _resample([counts], metrics, n_draws, seed)
    each = zip(values, draws, _left_out(counts, metrics), strict=True)
    ends = [np.quantile(drawn, _bca_tails(value, drawn, without)) for value, drawn, without in each]
    return {
        name: Interval(float(value), float(low), float(high))
        for name, value, (low, high) in zip(metrics, values, ends, strict=True)
    }


def paired_bootstrap(
    first: np.ndarray,
    second: np.ndarray,
    metrics: Mapping[str, Metric],
    *,
    n_draws: int = 10_000,
    seed: int = 0,
) -> dict[str, Difference]:
    """How far the second system is ahead, and whether another test set could reverse that.

    Both systems and all their seeds are counted on the same drawn units. The systems may have
    different numbers of seeds. The interval and p are read from the same sorted draws.

    first (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`.
    second (np.ndarray): The same of the other system.
    metrics (Mapping[str, Metric]): Scores by name; all are computed from the same draws.
    n_draws (int): Bootstrap draws, at least 39: p is 2 / (n_draws + 1) at least.
    seed (int): Fixes the draws.
    RETURNS (Dict[str, Difference]): In [-1, 1], and p.
    SOURCE: Koehn 2004, Statistical Significance Tests for Machine Translation Evaluation.
    """
    n_tail = int((n_draws + 1) * (1 - LEVEL) / 2 + ROUNDING)  # draws up to each end, with the end
    systems = [first.astype("float64"), second.astype("float64")]
    (before, draws_before), (after, draws_after) = _resample(systems, metrics, n_draws, seed)
    values, draws = after - before, draws_after - draws_before
    draws = np.sort(np.where(np.abs(draws) <= ROUNDING, 0.0, draws), axis=1)
    fewer = np.minimum((draws <= 0).sum(axis=1), (draws >= 0).sum(axis=1))
    p = np.minimum(1.0, 2 * (1 + fewer) / (n_draws + 1))
    rows = np.stack([values, draws[:, n_tail - 1], draws[:, -n_tail], p], axis=1)
    return {name: Difference(*row) for name, row in zip(metrics, rows.tolist(), strict=True)}


def _resample(
    systems: Sequence[np.ndarray], metrics: Mapping[str, Metric], n_draws: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each system the scores of all units, (n_metrics,), and of draws, (n_metrics, n_draws)."""
    rng = np.random.default_rng(seed)
    n_units, step = len(systems[0]), _step(systems)
    draws: list[list[np.ndarray]] = [[] for _ in systems]
    for begin in range(0, n_draws, step):
        weights = _drawn(rng, min(step, n_draws - begin), n_units)
        for drawn, counts in zip(draws, systems, strict=True):
            drawn.append(_scores(np.tensordot(weights, counts, axes=1), metrics))
    return [
        (_scores(counts.sum(axis=0), metrics), np.concatenate(weights, axis=1))
        for weights, counts in zip(draws, systems, strict=True)
    ]


def _left_out(counts: np.ndarray, metrics: Mapping[str, Metric]) -> np.ndarray:
    """The jackknife: each score with each unit left out in turn, (n_metrics, n_units)."""
    total, step = counts.sum(axis=0), _step([counts])
    parts = [_scores(total - counts[i : i + step], metrics) for i in range(0, len(counts), step)]
    return np.concatenate(parts, axis=1)


def _step(systems: Sequence[np.ndarray]) -> int:
    """Draws at a time, with what the metrics keep meanwhile."""
    n_units, n_cells = len(systems[0]), sum(counts[0].size for counts in systems)
    return max(1, MEMORY // (8 * (2 * n_units + 4 * n_cells)))


def _drawn(rng: np.random.Generator, n_draws: int, n_units: int) -> np.ndarray:
    """How often each draw has each unit, (n_draws, n_units). Faster than rng.multinomial."""
    places = rng.integers(0, n_units, (n_draws, n_units))
    places += n_units * np.arange(n_draws)[:, None]
    counts = np.bincount(places.ravel(), minlength=n_draws * n_units)
    return counts.reshape(n_draws, n_units).astype("float64")


def _scores(sums: np.ndarray, metrics: Mapping[str, Metric]) -> np.ndarray:
    """Scores of sums (..., n_seeds, n_types + 1, 3), averaged over seeds. (n_metrics, ...)"""
    return np.stack([metric(sums).mean(axis=-1) for metric in metrics.values()])


def _bca_tails(value: float, draws: np.ndarray, without: np.ndarray) -> np.ndarray:
    """The shares of draws that BCa cuts off, (2,); TAILS where it is not defined."""
    share = (draws < value - ROUNDING).mean() + (np.abs(draws - value) <= ROUNDING).mean() / 2
    if share in (0, 1) or np.ptp(without) <= ROUNDING:
        return TAILS
    norm = scipy_stats().norm
    bias = norm.ppf(share)
    z = bias + norm.ppf(TAILS)
    d = without.mean() - without
    shrink = 1 - (d**3).sum() / (6 * (d**2).sum() ** 1.5) * z  # by the acceleration
    return norm.cdf(bias + z / shrink) if (shrink > 0).all() else TAILS


def scipy_stats() -> ModuleType:
    """The module scipy.stats, which the extra `report` installs."""
    with extra("scipy", "report"):
        from scipy import stats
    return stats
