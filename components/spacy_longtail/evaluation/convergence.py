"""Convergence: whether trainings would have improved with more steps, judged by scores on dev."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..training.provenance import DEV_SCORE

SHARE = 3  # the slope is that of the last third of a curve
MIN_EVALUATIONS = 3  # with fewer than these, a curve has no slope
NOISE = 2.0  # standard errors that a slope must exceed
ROUNDING = 1e-12  # smaller slopes are floating point error


def still_rising(curve: Sequence[Mapping[str, float]], patience: int = 0) -> str:
    """Return why a training ended too early to judge its method, or "" if it did not.

    It ended too early if the model finds nothing, or if the score rose over the last third of the
    evaluations by more than it varies from one evaluation to the next. Fewer than three evaluations
    have no slope to test: then it ended too early if the last evaluation is the best one.

    curve (Sequence[Mapping[str, float]]): One entry per evaluation: step, and scores in [0, 1].
    patience (int): Steps without a better score after which training stops; 0 if it never does.
    RETURNS (str): A predicate, such as "has found nothing on dev yet".
    """
    points = [(p["step"], p[DEV_SCORE]) for p in curve if DEV_SCORE in p and p.get("step", 0) > 0]
    if not points:
        return ""
    steps, scores = (np.asarray(column, dtype="float64") for column in zip(*points, strict=True))
    best = int(scores.argmax())
    if scores[best] <= 0:
        return "has found nothing on dev yet"
    if patience and steps[-1] - steps[best] >= patience:
        return ""
    if len(scores) < MIN_EVALUATIONS:
        times = "once" if len(scores) == 1 else "twice"
        return f"was evaluated only {times}" if best == len(scores) - 1 else ""
    n = max(len(scores) // SHARE, MIN_EVALUATIONS)
    x = steps[-n:] - steps[-n:].mean()
    slope = float((x * scores[-n:]).sum() / (x**2).sum())
    # variance between neighbouring evaluations, so that a straight line has none
    variance = np.diff(scores[-2 * n :]).var(ddof=1) / 2
    is_rising = slope > max(NOISE * float(np.sqrt(variance / (x**2).sum())), ROUNDING)
    if not is_rising:
        return ""
    rise = round(100 * float(scores[-1] - scores[-2]), 1)
    if rise <= 0:  # the slope is that of more evaluations than two
        return f"still rose over its last {n} evaluations"
    return f"still rose by {rise:.1f} points between its last two evaluations"


def rising_of(runs: Iterable[tuple[Sequence[Mapping[str, float]], int]]) -> str:
    """Return why most runs of a method ended too early, or "" if at least half of them did not.

    runs (Iterable[Tuple[Sequence[Mapping[str, float]], int]]): Curve and patience of each run.
    RETURNS (str): A predicate as `still_rising` returns it, that of the first such run.
    """
    reasons = [still_rising(curve, patience) for curve, patience in runs]
    rising = [reason for reason in reasons if reason]
    return rising[0] if 2 * len(rising) > len(reasons) else ""


def no_verdict(rising: Mapping[str, str]) -> str:
    """Return why methods cannot be compared yet, or "" if all of them were trained long enough.

    rising (Mapping[str, str]): Result of `rising_of`, by name of the method.
    RETURNS (str): Two sentences for reports.
    """
    reasons = ", ".join(f"{name} {why}" for name, why in rising.items() if why)
    return f"Not trained long enough: {reasons}. Give more steps." if reasons else ""
