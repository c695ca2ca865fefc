"""The bootstrap over documents or sentences: intervals of scores, and of differences of two systems."""

from collections.abc import Mapping
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np

from ...errors import Errors
from .metrics import Metric

Method = Literal["bca", "percentile"]
MEMORY = 64 * 2**20  # bytes of weights and sums at a time
ROUNDING = 1e-12  # scores nearer than this are the same


class Interval(NamedTuple):
    value: float
    low: float
    high: float
    method: Method  # how it was made: percentile too where BCa is not defined


class Difference(NamedTuple):
    value: float  # second minus first, in [-1, 1]
    low: float
    high: float
    p: float  # two-sided; at most 1 - level exactly where the interval leaves out 0


class System(NamedTuple):
    sign: int
    counts: np.ndarray  # (n_units, n_seeds, n_types + 1, 3)


class Resampled(NamedTuple):
    value: np.ndarray  # (n_metrics,), of all units
    draws: np.ndarray  # (n_metrics, n_draws)
    without: np.ndarray | None  # (n_metrics, n_units), each unit left out in turn; for BCa


def intervals(
    counts: np.ndarray,
    metrics: Mapping[str, Metric],
    *,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
    method: Method = "bca",
) -> dict[str, Interval]:
    """How far each score would move with other documents of the same kind.

    counts (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`. Scores are means over seeds.
    metrics (Mapping[str, Metric]): Scores by name; all are computed from the same draws.
    level (float): Of the interval, above 0 and below 1.
    n_draws (int): Bootstrap draws.
    seed (int): Fixes the draws.
    method (str): "bca" or "percentile".
    RETURNS (Dict[str, Interval]): In [0, 1].
    SOURCE: Efron 1987, Better Bootstrap Confidence Intervals.
    """
    found = _resample([System(1, _checked(counts))], metrics, level, n_draws, seed, method)
    return {
        name: Interval(float(found.value[i]), *_interval(found, i, level))
        for i, name in enumerate(metrics)
    }


def paired_bootstrap(
    first: np.ndarray,
    second: np.ndarray,
    metrics: Mapping[str, Metric],
    *,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
) -> dict[str, Difference]:
    """How far the second system is ahead, and whether another test set could reverse that.

    Both systems and all their seeds are counted on the same drawn units. The systems may have
    different numbers of seeds. The interval and p are read from the same sorted draws.

    first (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`.
    second (np.ndarray): The same of the other system.
    metrics (Mapping[str, Metric]): Scores by name; all are computed from the same draws.
    level (float): Of the percentile interval, above 0 and below 1.
    n_draws (int): Bootstrap draws, at least 2 / (1 - level) - 1: p is 2 / (n_draws + 1) at least.
    seed (int): Fixes the draws.
    RETURNS (Dict[str, Difference]): In [-1, 1], and p.
    SOURCE: Koehn 2004, Statistical Significance Tests for Machine Translation Evaluation.
    """
    systems = [System(-1, _checked(first)), System(1, _checked(second))]
    shapes = [(len(s.counts), *s.counts.shape[2:]) for s in systems]
    if shapes[0] != shapes[1]:
        problem = "{} units of {} types against {} of {}".format(*shapes[1][:2], *shapes[0][:2])
        names = {"path": "The second system", "other": "the first"}
        raise ValueError(Errors.L411.format(**names, problem=problem))
    found = _resample(systems, metrics, level, n_draws, seed, "percentile")
    n_tail = int((n_draws + 1) * (1 - level) / 2 + ROUNDING)  # draws up to each end, the end among them
    if not n_tail:
        fix = "No p could be as small as 1 - level. Use 10000."
        raise _unfit("n_draws", f"enough for the level {level:g}", n_draws, fix)
    draws = np.sort(np.where(np.abs(found.draws) <= ROUNDING, 0.0, found.draws), axis=1)
    fewer = np.minimum((draws <= 0).sum(axis=1), (draws >= 0).sum(axis=1))
    p = np.minimum(1.0, 2 * (1 + fewer) / (n_draws + 1))
    columns = (found.value, draws[:, n_tail - 1], draws[:, -n_tail], p)
    return {
        name: Difference(*(float(column[i]) for column in columns)) for i, name in enumerate(metrics)
    }


def _checked(counts: np.ndarray) -> np.ndarray:
    if counts.ndim != 4 or not len(counts) or counts.shape[-1] != 3:
        rule = "counts of at least one unit, (n_units, n_seeds, n_types + 1, 3)"
        raise _unfit("counts", rule, counts.shape, "Use stack().")
    return counts.astype("float64")  # so that products with weights go through BLAS


def _resample(
    systems: list[System],
    metrics: Mapping[str, Metric],
    level: float,
    n_draws: int,
    seed: int,
    method: Method,
) -> Resampled:
    """Value, bootstrap replicates and jackknife of each score, or of its difference."""
    if not 0 < level < 1:
        raise _unfit("level", "above 0 and below 1", level, "Use 0.95.")
    if n_draws < 1:
        raise _unfit("n_draws", "at least 1", n_draws, "Use 10000.")
    if method not in ("bca", "percentile"):
        raise _unfit("method", "bca or percentile", method, "Use one of them.")
    rng = np.random.default_rng(seed)
    n_units, n_cells = len(systems[0].counts), sum(s.counts[0].size for s in systems)
    step = max(1, MEMORY // (8 * (2 * n_units + 4 * n_cells)))  # with what the metrics keep meanwhile
    draws = []
    for begin in range(0, n_draws, step):
        n = min(step, n_draws - begin)
        weights = _drawn(rng, n, n_units)
        sums = [np.tensordot(weights, s.counts, axes=1) for s in systems]
        draws.append(_statistics(systems, sums, metrics))
    totals = [s.counts.sum(axis=0) for s in systems]
    value = _statistics(systems, totals, metrics)
    without = None
    if method == "bca":
        parts = []
        for begin in range(0, n_units, step):
            sums = [t - s.counts[begin : begin + step] for t, s in zip(totals, systems, strict=True)]
            parts.append(_statistics(systems, sums, metrics))
        without = np.concatenate(parts, axis=1)
    return Resampled(value, np.concatenate(draws, axis=1), without)


def _drawn(rng: np.random.Generator, n_draws: int, n_units: int) -> np.ndarray:
    """How often each draw has each unit, (n_draws, n_units). Six times as fast as rng.multinomial."""
    found = rng.integers(0, n_units, (n_draws, n_units))
    found += n_units * np.arange(n_draws)[:, None]
    counted = np.bincount(found.ravel(), minlength=n_draws * n_units)
    return counted.reshape(n_draws, n_units).astype("float64")


def _statistics(
    systems: list[System], sums: list[np.ndarray], metrics: Mapping[str, Metric]
) -> np.ndarray:
    """Scores of sums (..., n_seeds, n_types + 1, 3), averaged over seeds, signed and added."""
    rows: list[np.ndarray] = [
        sum(s.sign * metric(own).mean(axis=-1) for s, own in zip(systems, sums, strict=True))
        for metric in metrics.values()
    ]
    return np.stack(rows)


def _interval(found: Resampled, i: int, level: float) -> tuple[float, float, Method]:
    """The interval of the i-th score, and how it was made."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    corrected = None
    if found.without is not None:
        corrected = _bca_tails(found.value[i], found.draws[i], found.without[i], tails)
    method: Method = "percentile" if corrected is None else "bca"
    low, high = np.quantile(found.draws[i], tails if corrected is None else corrected)
    return float(low), float(high), method


def _bca_tails(
    value: float, draws: np.ndarray, without: np.ndarray, tails: np.ndarray
) -> np.ndarray | None:
    """The shares of replicates that BCa cuts off, (2,); null where they are not defined."""
    below = (draws < value - ROUNDING).mean()
    share = below + (np.abs(draws - value) <= ROUNDING).mean() / 2
    if share in (0, 1) or np.ptp(without) <= ROUNDING:
        return None
    norm = scipy_stats().norm
    bias = norm.ppf(share)
    z = bias + norm.ppf(tails)
    shrink = 1 - acceleration(without) * z
    return norm.cdf(bias + z / shrink) if (shrink > 0).all() else None


def acceleration(without: np.ndarray) -> float:
    """How fast a statistic's spread grows with it, from its jackknife values. (n_units,)

    without (np.ndarray): (n_units,), the statistic with each unit left out, not all the same.
    RETURNS (float): The acceleration of BCa, no unit.
    """
    d = without.mean() - without
    return float((d**3).sum() / (6 * (d**2).sum() ** 1.5))


def _unfit(name: str, rule: str, value: object, fix: str) -> ValueError:
    return ValueError(Errors.L001.format(name=name, rule=rule, value=value, fix=fix))


def scipy_stats() -> ModuleType:
    """The module scipy.stats."""
    try:
        from scipy import stats
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="scipy", extra="report")) from error
    return stats
