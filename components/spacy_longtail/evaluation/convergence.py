"""Whether trainings have come to their end, judged by their scores on dev."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..output.amounts import number
from ..training.provenance import DEV_SCORE

THIRD = 3  # the last part of a curve is one third, and as many evaluations at least
NOISE = 2.0  # standard errors that a slope must exceed
ROUNDING = 1e-12  # of a slope


class Rising(NamedTuple):
    """A training that ended too early."""

    why: str  # a predicate: "has found nothing yet"
    more: int  # training steps that it needs at least, a guess
    steps: int  # training steps that it had


def still_rising(curve: Sequence[Mapping[str, float]], patience: int = 0) -> Rising | None:
    """Whether a training ended too early to say what its method is worth.

    It did if it has found nothing, or if its score rose over the last third of the evaluations by
    more than they vary from one to the next. Fewer than three evaluations have no slope to test:
    then a best checkpoint at the end counts.

    curve (Sequence[Mapping[str, float]]): One entry per evaluation: step, and scores in [0, 1].
    patience (int): Steps without a better score after which it ended by itself; 0 for none.
    RETURNS (Optional[Rising]): Null if it had come to its end, or there is no score to tell.
    """
    points = [(p["step"], p[DEV_SCORE]) for p in curve if DEV_SCORE in p and p.get("step", 0) > 0]
    if not points:
        return None
    steps, scores = (np.asarray(column, dtype="float64") for column in zip(*points, strict=True))
    last, every = int(steps[-1]), int(np.diff(steps, prepend=0.0).min())
    best = int(scores.argmax())
    if scores[best] <= 0:
        return Rising("has found nothing yet", last, last)
    if patience and last - steps[best] >= patience:
        return None
    if len(scores) < THIRD:
        if best < len(scores) - 1:
            return None
        why = f"had {number(len(scores), 'evaluation')} alone"
        return Rising(why, (THIRD - len(scores)) * every, last)
    slope = _slope_above_noise(steps, scores)
    if not slope:
        return None
    half = -(-last // (2 * every)) * every  # half as many again, in whole evaluations
    return Rising(f"still rose by {1e4 * slope:.1f} points in 100 steps", half, last)


def _slope_above_noise(steps: np.ndarray, scores: np.ndarray) -> float:
    """Slope of the last third, in score per step; 0 where evaluations vary as much as that."""
    n = max(len(scores) // THIRD, THIRD)
    x, y = steps[-n:] - steps[-n:].mean(), scores[-n:]
    slope = float((x * y).sum() / (x**2).sum())
    changes = np.diff(scores[-2 * n :])  # of all where there are fewer; a straight line has no variance
    error = float(np.sqrt(changes.var(ddof=1) / 2 / (x**2).sum()))
    return slope if slope > max(NOISE * error, ROUNDING) else 0.0


def rising_of(runs: Iterable[Mapping[str, Any]]) -> Rising | None:
    """What `still_rising` says of most runs of a method.

    runs (Iterable[Mapping[str, Any]]): With curve, and training (patience), as in an evaluation.
    RETURNS (Optional[Rising]): The one that needs the most steps; null if half of them had ended.
    """
    each = [
        still_rising(run.get("curve") or [], (run.get("training") or {}).get("patience") or 0)
        for run in runs
    ]
    rising = [one for one in each if one is not None]
    return max(rising, key=lambda one: one.more) if 2 * len(rising) > len(each) else None


def no_verdict(rising: Mapping[str, Rising | None]) -> str:
    """Why nothing can be said of methods yet; "" if all of them have come to their end.

    rising (Mapping[str, Optional[Rising]]): By name of the method.
    RETURNS (str): A sentence or two.
    """
    early = {name: one for name, one in rising.items() if one is not None}
    if not early:
        return ""
    reasons = ", ".join(f"{name} {one.why}" for name, one in early.items())
    more = max(one.more for one in early.values())
    total = max(one.steps + one.more for one in early.values())
    needed = f"It takes {more:,} steps more at least, {total:,} in all."
    return f"Not trained long enough: {reasons}. {needed}"
