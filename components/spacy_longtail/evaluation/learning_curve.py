"""The power law of a learning curve: fitted to scores by size, extrapolated, and how sure that is."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Floats1d, Floats2d

from ..settings import extra

LEAST_SIZES, LEAST_RUNS = 4, 2  # for a fit
LEVEL = 0.90  # of intervals
N_DRAWS = 2000
FAR = 100  # times the largest size: nothing is said of numbers beyond
FLATTEST, STEEPEST, N_EXPONENTS = 0.05, 3.0, 160  # of c, tried on a logarithmic grid
MOST_IN_COMMON = 0.95  # correlation of neighbouring sizes
PRIOR_RUNS = 4  # what the variance over all sizes weighs in that of one size, in degrees of freedom

Reach = Literal["reached", "needed", "open", "out of reach"]


class Size(NamedTuple):
    """The runs with one size of the data."""

    n: float  # mean over the runs, such as mentions
    scores: list[float]  # in [0, 1], one of each run, in the order of their partitions


class Law(NamedTuple):
    """score(n) = a - b * n**-c, within [0, 1]."""

    a: float  # the asymptote, at most 1
    b: float  # 0 or more
    c: float  # above 0

    def at(self, n: float) -> float:
        """The score at a size. n (float): Above 0."""
        return min(max(self.a - self.b * n**-self.c, 0.0), 1.0)


class Estimate(NamedTuple):
    value: float
    low: float
    high: float


class Needed(NamedTuple):
    """The size at which a curve reaches a score; null stands for none up to FAR times the largest.

    The smallest measured size stands for all below.
    """

    reach: Reach  # open: the fitted curve does not get there, but it is not excluded
    value: float | None
    low: float | None
    high: float | None


class Fit(NamedTuple):
    """A fitted law, and the laws of bootstrap draws, which say how sure it is."""

    law: Law
    draws: Floats2d  # (n_draws, 3): a, b, c
    smallest: float  # size that was measured and used
    largest: float

    @property
    def is_flat(self) -> bool:
        """Whether the curve is not shown to rise at all."""
        return bool(np.mean(self.draws[:, 1] <= 0) > (1 - LEVEL) / 2)

    @property
    def asymptote(self) -> Estimate:
        """Where the curve ends."""
        return _estimate(self.law.a, self.draws[:, 0])

    def at(self, n: float) -> Estimate:
        """The expected score of a training with a size, on the same test data. n (float): Above 0."""
        a, b, c = self.draws.T
        return _estimate(self.law.at(n), np.clip(a - b * n**-c, 0.0, 1.0))

    def needed(self, target: float) -> Needed:
        """The size for a score.

        target (float): Above 0, at most 1.
        RETURNS (Needed): Without numbers where the curve is flat, or ends below the target.
        """
        is_reached = self.law.at(self.largest) >= target
        if not is_reached and (self.is_flat or self.asymptote.high < target):
            return Needed("out of reach", None, None, None)
        most = FAR * self.largest
        sizes = np.maximum(_sizes_for(np.array([self.law, *self.draws]), target), self.smallest)
        value = float(sizes[0])
        low, high = (float(end) for end in _quantiles(sizes[1:]))
        low, high = min(low, value), max(high, value)
        reach: Reach = "reached" if is_reached else "needed" if value <= most else "open"
        found = (n if n <= most else None for n in (value, low, high))
        return Needed(reach, *found)


def usable(sizes: Sequence[Size]) -> list[Size]:
    """The sizes that a law can be fitted to: with two runs at least, and from the first success on.

    The law goes below 0, which no score does: sizes at which nothing is found yet say nothing of it.
    """
    found = sorted(size for size in sizes if size.n > 0 and len(size.scores) >= LEAST_RUNS)
    first = next((i for i, size in enumerate(found) if max(size.scores) > 0), len(found))
    return found[first:]


def fit_power_law(sizes: Sequence[Size], n_draws: int = N_DRAWS, seed: int = 0) -> Fit | None:
    """Fit score(n) = a - b * n**-c by weighted least squares, with a <= 1, b >= 0 and c > 0.

    Sizes weigh as the inverse of the variance of their mean. The bootstrap draws as many runs at each
    size, and fits again.

    sizes (Sequence[Size]): With their runs.
    n_draws (int): Of the bootstrap. seed (int): Fixes them.
    RETURNS (Optional[Fit]): Null with fewer than four usable sizes.
    SOURCE: The law: Viering & Loog 2022, arXiv:2103.10948; the bootstrap: Efron & Tibshirani 1993.
    """
    found = usable(sizes)
    if len(found) < LEAST_SIZES:
        return None
    n = np.array([size.n for size in found], dtype="float64")
    means = np.array([np.mean(size.scores) for size in found])
    deviations = _deviations(found)
    runs = np.array([len(size.scores) for size in found])
    weights = runs / deviations**2 if deviations.any() else runs.astype("float64")
    draws = _profile(n, _resampled(found, deviations, n_draws, seed), weights)
    law = Law(*_polished(n, means, weights, _profile(n, means[None], weights)[0]).tolist())
    return Fit(law, draws, float(n[0]), float(n[-1]))


def _deviations(sizes: Sequence[Size]) -> Floats1d:
    """(n_sizes,) standard deviations of single runs, each shrunk towards that of all sizes."""
    freedom = np.array([len(size.scores) - 1 for size in sizes], dtype="float64")
    squares = np.array([np.var(size.scores) * len(size.scores) for size in sizes])
    pooled = squares.sum() / freedom.sum()
    return np.sqrt((PRIOR_RUNS * pooled + squares) / (PRIOR_RUNS + freedom))


def _resampled(sizes: Sequence[Size], deviations: Floats1d, n_draws: int, seed: int) -> Floats2d:
    """(n_draws, n_sizes) means of runs that might have been.

    Few runs of one size say little of how they vary: what is drawn with replacement are the deviations
    of all runs from the mean of their size, in units of its standard deviation. One factor per draw is
    for what is not known of the scale, as in Student's t. What neighbouring sizes have in common, since
    a larger draw of a partition holds the smaller one, goes from each to the next.
    """
    rng = np.random.default_rng(seed)
    means = np.array([np.mean(size.scores) for size in sizes])
    if not deviations.any():
        return np.broadcast_to(means, (n_draws, len(means)))
    rows = [(np.array(s.scores) - m) / d for s, m, d in zip(sizes, means, deviations, strict=True)]
    pool = np.concatenate(rows)
    pool /= math.sqrt((pool**2).mean())
    freedom = len(pool) - len(sizes)
    scale = np.sqrt(freedom / rng.chisquare(freedom, n_draws))
    shared = _in_common(rows)
    moved = np.empty((n_draws, len(sizes)))
    for i, row in enumerate(rows):
        own = pool[rng.integers(0, len(pool), (n_draws, len(row)))].mean(axis=1)
        if i and len(rows[i - 1]) == len(row):
            own = shared * moved[:, i - 1] + math.sqrt(1 - shared**2) * own
        moved[:, i] = own
    return means + scale[:, None] * deviations * moved


def _in_common(rows: Sequence[Floats1d]) -> float:
    """The correlation of neighbouring sizes with as many runs, over their partitions; 0 at least."""
    pairs = [(x, y) for x, y in itertools.pairwise(rows) if len(x) == len(y)]
    first, second = (np.concatenate([p[i] for p in pairs] or [np.zeros(0)]) for i in (0, 1))
    squares = math.sqrt((first**2).sum() * (second**2).sum())
    return min(max(float(first @ second) / squares, 0.0), MOST_IN_COMMON) if squares else 0.0


def _profile(n: Floats1d, scores: Floats2d, weights: Floats1d) -> Floats2d:
    """The laws of many curves at once: for a given c, a and b have a closed form.

    n (Floats1d): (n_sizes,). scores (Floats2d): (n_curves, n_sizes). weights (Floats1d): (n_sizes,).
    RETURNS (Floats2d): (n_curves, 3), a, b and c of the best c of the grid.
    """
    c = np.geomspace(FLATTEST, STEEPEST, N_EXPONENTS)
    middle = math.exp(np.log(n).mean())
    x = (n / middle) ** -c[:, None]  # (n_exponents, n_sizes)
    w = weights / weights.sum()
    y = np.minimum(scores, 1.0)
    x_mean, y_mean = x @ w, y @ w
    from_mean = x - x_mean[:, None]
    b = np.maximum(-(y * w) @ from_mean.T / ((from_mean**2) @ w), 0.0)
    a = y_mean[:, None] + b * x_mean
    at_one = ((1 - y) * w) @ x.T / ((x**2) @ w)  # b where a would be above 1
    b, a = np.where(a > 1, at_one, b), np.minimum(a, 1.0)
    rest = y[:, None] - a[:, :, None] + b[:, :, None] * x
    best = np.argmin((rest**2) @ w, axis=1)
    rows = np.arange(len(y))
    return np.stack([a[rows, best], b[rows, best] * middle ** c[best], c[best]], axis=1)


def _polished(n: Floats1d, means: Floats1d, weights: Floats1d, start: Floats1d) -> Floats1d:
    """The law from that of the grid on."""
    if start[1] <= 0:  # flat: any c fits as well
        return start
    with extra("scipy", "report"):
        from scipy.optimize import least_squares
    middle = math.exp(np.log(n).mean())
    root = np.sqrt(weights / weights.sum())

    def rest(law: Floats1d) -> Floats1d:
        a, b, c = law
        return root * (means - a + b * (n / middle) ** -c)

    first = np.array([start[0], start[1] * middle ** -start[2], start[2]])
    bounds = ([-np.inf, 0.0, FLATTEST], [1.0, np.inf, STEEPEST])
    found = least_squares(rest, first, bounds=bounds, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    best = found.x if (found.fun**2).sum() < (rest(first) ** 2).sum() else first
    return np.array([best[0], best[1] * middle ** best[2], best[2]])


def _sizes_for(laws: Floats2d, target: float) -> Floats1d:
    """(n_laws,) the size at which each reaches a score; infinite of one that does not."""
    a, b, c = laws.T
    ahead = a - target
    ratio = np.divide(b, ahead, out=np.full(len(laws), np.inf), where=ahead > 0)
    with np.errstate(over="ignore"):
        return np.where(ahead > 0, ratio ** (1 / c), np.inf)


def _estimate(value: float, draws: Floats1d) -> Estimate:
    low, high = (float(end) for end in _quantiles(draws))
    return Estimate(value, min(low, value), max(high, value))


def _quantiles(draws: Floats1d) -> Floats1d:
    """(2,) the ends of the interval. None is interpolated: sizes may be infinite."""
    tail = (1 - LEVEL) / 2
    return np.quantile(draws, [tail, 1 - tail], method="inverted_cdf")
