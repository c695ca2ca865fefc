"""The one rule that decides whether a system is better than another, and intervals of scores."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np
from thinc.types import Floats1d, Floats2d

from ...extras import extra
from .metrics import MACRO, Metric, divide

Outcome = Literal[
    "better", "worse", "not significant", "too few documents to tell", "not trained long enough"
]
NOT_SIGNIFICANT: Final = "not significant"
TOO_FEW: Final = "too few documents to tell"
TOO_EARLY: Final = "not trained long enough"
Key = TypeVar("Key")  # of a decision, such as the name of its score
LEVEL = 0.95  # of intervals
ALPHA = 1 - LEVEL  # largest corrected p of a claim
N_DRAWS = 9_999
MIN_UNITS = 6  # with n units p cannot be below 2 ** (1 - n): six are the fewest with p below 0.05
BATCH = 2**22  # numbers per batch of draws, 32 MiB
ROUNDING = 1e-12  # differences below it are floating point error
# Standard deviation of a score over training seeds: a part that all types share, and a part of
# each type. Together they are 0.9 points of macro F1 of eight types, as in our records, and 1.7
# points of F1 of one type (`benchmarks/decisions.py measure`).
SEED_SD_SHARED, SEED_SD_TYPE = 0.007, 0.015
SEED_SD_DF = 6  # degrees of freedom that this measurement is worth beside a comparison's own seeds


class Decision(NamedTuple):
    """Result of the comparison of two systems in one score. Scores are in [0, 1].

    baseline (float): Score of the baseline, as the mean over seeds.
    method (float): Score of the method.
    value (float): Difference, method minus baseline.
    low, high (float): 95 % interval of the difference.
    p (float): Two-sided p-value, at most 0.05 exactly if the interval excludes 0.
    adjusted (float): p after Holm's correction.
    n_comparisons (int): Number of comparisons that were corrected together.
    n_units (int): Number of documents, or groups, of the test set.
    n_with (int): Number of these with gold mentions of the types of the score.
    n_seeds (Tuple[int, int]): Number of seeds of the baseline and of the method.
    outcome (str): "better", "worse", "not significant", "too few documents to tell" or "not trained
        long enough".
    """

    baseline: float
    method: float
    value: float
    low: float
    high: float
    p: float
    adjusted: float
    n_comparisons: int
    n_units: int
    n_with: int
    n_seeds: tuple[int, int]
    outcome: Outcome

    @property
    def is_significant(self) -> bool:
        """Return whether the difference is significant."""
        return self.outcome in ("better", "worse")

    def without_claim(self) -> "Decision":
        """Return the decision if a model was not trained long enough, so that nothing is claimed.

        A score that too few documents have was not tested, however long the training.
        """
        return self if self.outcome == TOO_FEW else self._replace(outcome=TOO_EARLY)

    @property
    def one_sided(self) -> float:
        """Return the p of the hypothesis that the method is not better than the baseline."""
        return self.p / 2 if self.value > 0 else 1 - self.p / 2

    @property
    def n_needed(self) -> int:
        """Return how many units of this kind a test set needs before a difference can be shown."""
        return int(np.ceil(MIN_UNITS * self.n_units / self.n_with)) if self.n_with else 0


class Interval(NamedTuple):
    """Score with its 95 % interval."""

    value: float
    low: float
    high: float


class _Difference(NamedTuple):
    """Difference in one score, and where its uncertainty comes from."""

    value: float
    residuals: Floats1d  # (n_units,), what each unit contributes beyond its share
    shares: Floats1d  # (n_units,), of the mentions that the score counts; they add up to 1
    seed_sd: float  # standard deviation of the value due to training seeds
    seed_df: float  # degrees of freedom of that estimate


def compare(
    baseline: np.ndarray,
    method: np.ndarray,
    metrics: Mapping[str, Metric],
    *,
    primary: str = MACRO,
    is_paired: bool = False,
    n_trainings: int = 1,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> dict[str, Decision]:
    """Decide in each score whether a method is better than a baseline.

    The test is a paired randomisation test over units: under the null hypothesis the two systems
    are interchangeable in each unit, so the difference that a unit contributes may have either
    sign. The spread over training seeds is a second source of variation in the same draws. It is
    estimated from the seeds at hand and from the spread in our own records, so that one seed has a
    wide interval and more seeds a narrower one. The interval holds the differences that the test
    does not reject.

    The primary score is tested alone. All other scores are corrected together (Holm).

    baseline (np.ndarray): Counts of shape (n_units, n_seeds, n_types + 1, 3), as `stack` returns.
    method (np.ndarray): Counts of the method on the same units. The number of seeds may differ.
    metrics (Mapping[str, Metric]): Scores by name.
    primary (str): Name of the score that was declared before the test set was looked at.
    is_paired (bool): Whether seed i of both systems has the same training sentences.
    n_trainings (int): Trainings behind each seed, such as the folds of cross-validation.
    n_draws (int): Number of random draws.
    seed (int): Random seed of the draws.
    RETURNS (Dict[str, Decision]): A decision for each score.
    SOURCE: Yeh 2000, More accurate tests for the statistical significance of result differences;
        Smyth 2004, Linear models and empirical Bayes methods (for the spread over seeds).
    """
    first, second = (counts.astype("float64") for counts in (baseline, method))
    parts = [_difference(first, second, own, is_paired, n_trainings) for own in metrics.values()]
    below, above = _draw(parts, n_draws, seed)
    n_tail = int(ALPHA * (n_draws + 1) + ROUNDING)  # draws at and beyond each end of the interval
    decisions: dict[str, Decision] = {}
    for i, (name, metric) in enumerate(metrics.items()):
        value = parts[i].value
        limits = below[:, i] if value > 0 else above[:, i]  # on the side of 0
        p = (1 + int((limits >= abs(value) - ROUNDING).sum())) / (n_draws + 1)
        decision = Decision(
            baseline=float(metric(first.sum(axis=0)).mean()),
            method=float(metric(second.sum(axis=0)).mean()),
            value=value,
            low=max(value - float(below[-n_tail, i]), -1.0),
            high=min(value + float(above[-n_tail, i]), 1.0),
            p=p,
            adjusted=p,
            n_comparisons=1,
            n_units=len(baseline),
            n_with=metric.units_with_gold(first),
            n_seeds=(baseline.shape[1], method.shape[1]),
            outcome=NOT_SIGNIFICANT,
        )
        decisions[name] = _concluded(decision, p)
    others = correct({name: own for name, own in decisions.items() if name != primary})
    return {name: others.get(name, own) for name, own in decisions.items()}


def correct(family: Mapping[Key, Decision]) -> dict[Key, Decision]:
    """Correct p-values of decisions that are considered together for their number (Holm).

    Scores with too few documents were not tested, so they are not counted.

    family (Mapping[Any, Decision]): Decisions by score or by system.
    RETURNS (Dict[str, Decision]): The same decisions with corrected p and outcome.
    """
    tested = [name for name, own in family.items() if own.outcome != TOO_FEW]
    adjusted = dict(zip(tested, holm([family[name].p for name in tested]).tolist(), strict=True))
    return {
        name: _concluded(own, adjusted[name])._replace(n_comparisons=len(tested))
        if name in adjusted
        else own
        for name, own in family.items()
    }


def holm(p_values: Sequence[float]) -> Floats1d:
    """Return Holm's corrected p values, in the order of the input.

    p_values (Sequence[float]): Shape (n_comparisons,).
    SOURCE: Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure.
    """
    p = np.asarray(p_values, dtype="float64")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    stepped = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def intervals(counts: np.ndarray, metrics: Mapping[str, Metric]) -> dict[str, Interval]:
    """Compute 95 % intervals of the scores of one system over other documents of the same kind.

    Wilson's interval of a proportion, with the number of documents that would have the variance
    found by leaving out one unit after another. A type that is always or never found right has no
    such variance; it counts as one trial for each unit that has it.

    counts (np.ndarray): Shape (n_units, n_seeds, n_types + 1, 3). Scores are means over seeds.
    metrics (Mapping[str, Metric]): Scores by name.
    RETURNS (Dict[str, Interval]): In [0, 1]. Where no unit has anything to count, the interval has
        no width.
    SOURCE: Korn and Graubard 1998, Confidence Intervals for Proportions with Small Expected Number
        of Positive Counts; Wilson 1927.
    """
    counts = counts.astype("float64")
    return {name: _interval(counts, metric) for name, metric in metrics.items()}


def _concluded(decision: Decision, adjusted: float) -> Decision:
    outcome: Outcome = NOT_SIGNIFICANT
    if decision.n_with < MIN_UNITS:
        outcome = TOO_FEW
    elif adjusted <= ALPHA + ROUNDING:
        outcome = "better" if decision.value > 0 else "worse"
    return decision._replace(adjusted=adjusted, outcome=outcome)


def _linearised(counts: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split each group's score into contributions of the units.

    RETURNS (Tuple[np.ndarray, np.ndarray, np.ndarray]): Scores (n_seeds, n_groups); residuals that
        add up to 0 and shares that add up to 1 over units, both (n_units, n_seeds, n_groups).
    """
    part, whole = metric.ratios(counts)
    sums = whole.sum(axis=0)
    scores = divide(part.sum(axis=0), sums)
    return scores, divide(part - scores * whole, sums), divide(whole, sums)


def _difference(
    baseline: np.ndarray, method: np.ndarray, metric: Metric, is_paired: bool, n_trainings: int
) -> _Difference:
    sides = [_linearised(side, metric) for side in (baseline, method)]
    sums = [side.sum(axis=0).mean(axis=0) for side in (baseline, method)]
    total = sums[0] + sums[1]
    weights = metric.weights(total)
    gains = sides[1][0].mean(axis=0) - sides[0][0].mean(axis=0)
    value = float((weights * gains).sum())
    shares = (sides[0][2].mean(axis=1) + sides[1][2].mean(axis=1)) / 2  # (n_units, n_groups)
    shares = divide(shares, shares.sum(axis=0))
    present = float((weights * (shares.sum(axis=0) > 0)).sum())  # weight of the groups that occur
    common = value / present if present else 0.0  # difference of each group, were it the same
    residuals = sides[1][1].mean(axis=1) - sides[0][1].mean(axis=1) + shares * (gains - common)
    sd, df = _seed_sd(sides, metric, weights, total, is_paired, n_trainings)
    return _Difference(
        value=value,
        residuals=(residuals * weights).sum(axis=1),
        shares=(shares * weights).sum(axis=1) / (present or 1.0),
        seed_sd=sd,
        seed_df=df,
    )


def _seed_sd(
    sides: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    metric: Metric,
    weights: np.ndarray,
    total: np.ndarray,
    is_paired: bool,
    n_trainings: int,
) -> tuple[float, float]:
    """Return the standard deviation of the difference due to training seeds, and its df.

    The variance between seeds is pooled with the one of our records. What single mentions add to it
    by chance is subtracted, because the units' contributions have it already.
    """
    scores = [(side[0] * weights).sum(axis=-1) for side in sides]  # (n_seeds,)
    units = [(side[1] * weights).sum(axis=-1) for side in sides]  # (n_units, n_seeds)
    prior = SEED_SD_SHARED**2 + SEED_SD_TYPE**2 * float((metric.row_shares(total) ** 2).sum())
    prior /= n_trainings
    factor = 1 / len(scores[0]) + 1 / len(scores[1])
    if is_paired:
        scores, units = [scores[1] - scores[0]], [units[1] - units[0]]
        prior, factor = 2 * prior, 1 / len(scores[0])
    squares, df = 0.0, 0
    for own, by_unit in zip(scores, units, strict=True):
        squares += float(((own - own.mean()) ** 2).sum())
        squares -= float(((by_unit - by_unit.mean(axis=1, keepdims=True)) ** 2).sum())
        df += len(own) - 1
    variance = (SEED_SD_DF * prior + max(squares, 0.0)) / (SEED_SD_DF + df)
    return float(np.sqrt(variance * factor)), float(SEED_SD_DF + df)


def _draw(differences: Sequence[_Difference], n_draws: int, seed: int) -> tuple[Floats2d, Floats2d]:
    """Return how far below and above the estimate each draw keeps a hypothesis, both sorted.

    If the true difference is u below the estimate, unit i contributes residual_i + u * share_i. A
    draw gives each contribution a random sign, and keeps the hypothesis if its sum s + u * w is at
    least as far from 0 as u, the sum of all contributions. Solved for u, that is u <= |s| / (1 -
    sign(s) * w). If the true difference is u above the estimate, the sign of w is reversed.

    RETURNS (Tuple[Floats2d, Floats2d]): Distances, both (n_draws, n_scores), ascending.
    """
    rng = np.random.default_rng(seed)
    residuals = np.stack([own.residuals for own in differences], axis=1)
    shares = np.stack([own.shares for own in differences], axis=1)
    seed_sd = np.array([own.seed_sd for own in differences])
    df = differences[0].seed_df  # the same for all scores
    n_units, n_scores = residuals.shape
    students = rng.standard_normal(n_draws) * np.sqrt(df / rng.chisquare(df, n_draws))
    distances = np.empty((2, n_draws, n_scores))
    step = max(1, BATCH // max(n_units, 1))
    for begin in range(0, n_draws, step):
        end = min(begin + step, n_draws)
        signs = rng.integers(0, 2, (end - begin, n_units)) * 2.0 - 1
        s = signs @ residuals + seed_sd * students[begin:end, None]
        w = np.where(s < 0, -1.0, 1.0) * np.clip(signs @ shares, -1.0, 1.0)
        for side, room in enumerate((1 - w, 1 + w)):
            room = np.where(np.abs(s) > ROUNDING, room, 1 - np.abs(w))
            distances[side, begin:end] = np.divide(
                np.abs(s), room, out=np.full_like(s, np.inf), where=room > ROUNDING
            )
    distances.sort(axis=1)
    return distances[0], distances[1]


def _interval(counts: np.ndarray, metric: Metric) -> Interval:
    weights = metric.weights(counts.sum(axis=0).mean(axis=0))
    scores, residuals, shares = (own.mean(axis=-2) for own in _linearised(counts, metric))
    n_with = (shares > 0).sum(axis=0)  # (n_groups,)
    value = float(metric(counts.sum(axis=0)).mean())
    if not (n_with * weights).sum():
        return Interval(value, value, value)
    without = divide(residuals, 1 - shares) * weights  # what each unit's absence would change
    variance = float((without.sum(axis=1) ** 2).sum())
    is_fixed = (np.abs(residuals).max(axis=0) <= ROUNDING) & (n_with > 0)
    shrunk = np.where(is_fixed, divide(scores * n_with + 2, n_with + 4), scores)
    variance += float((weights**2 * is_fixed * divide(shrunk * (1 - shrunk), n_with)).sum())
    center = float((weights * shrunk).sum())
    n = center * (1 - center) / max(variance, ROUNDING)
    of_units = (shares * weights).sum(axis=1)
    df = max(of_units.sum() ** 2 / (of_units**2).sum() - 1, 1.0)
    with extra("scipy", "report"):
        from scipy import stats
    z = float(stats.t.ppf((1 + LEVEL) / 2, df)) ** 2
    middle, half = value + z / (2 * n), np.sqrt(z * value * (1 - value) / n + z**2 / (4 * n**2))
    ends = [float((middle + sign * half) / (1 + z / n)) for sign in (-1, 1)]
    return Interval(value, max(ends[0], 0.0), min(ends[1], 1.0))
