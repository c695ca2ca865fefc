"""Whether trainings have come to their end, judged by their scores on dev."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..output.amounts import number
from ..training.provenance import DEV_SCORE

THIRD = 3  # the last part of a curve is one third, and as many evaluations at least
NOISE = 2.0  # standard errors that a slope must exceed
ROUNDING = 1e-12  # of a slope


def still_rising(curve: Sequence[Mapping[str, float]], patience: int = 0) -> str:
    """Why a training ended too early to say what its method is worth; "" if it did not.

    It did if it has found nothing, or if its score rose over the last third of the evaluations by
    more than they vary from one to the next. Fewer than three evaluations have no slope to test:
    then a best checkpoint at the end counts.

    curve (Sequence[Mapping[str, float]]): One entry per evaluation: step, and scores in [0, 1].
    patience (int): Steps without a better score after which it ended by itself; 0 for none.
    RETURNS (str): A predicate, such as "has found nothing yet".
    """
    points = [(p["step"], p[DEV_SCORE]) for p in curve if DEV_SCORE in p and p.get("step", 0) > 0]
    if not points:
        return ""
    steps, scores = (np.asarray(column, dtype="float64") for column in zip(*points, strict=True))
    best = int(scores.argmax())
    if scores[best] <= 0:
        return "has found nothing yet"
    if patience and steps[-1] - steps[best] >= patience:
        return ""
    if len(scores) < THIRD:
        return f"had {number(len(scores), 'evaluation')} alone" if best == len(scores) - 1 else ""
    n = max(len(scores) // THIRD, THIRD)
    x = steps[-n:] - steps[-n:].mean()
    slope = float((x * scores[-n:]).sum() / (x**2).sum())
    # from one evaluation to the next; a straight line has no variance
    variance = np.diff(scores[-2 * n :]).var(ddof=1) / 2
    is_rising = slope > max(NOISE * float(np.sqrt(variance / (x**2).sum())), ROUNDING)
    return f"still rose by {1e4 * slope:.1f} points in 100 steps" if is_rising else ""


def rising_of(runs: Iterable[Mapping[str, Any]]) -> str:
    """What `still_rising` says of most runs of a method; "" if half of them had come to their end.

    runs (Iterable[Mapping[str, Any]]): With curve, and training (patience), as in an evaluation.
    """
    curves = [(run.get("curve") or [], (run.get("training") or {}).get("patience") or 0) for run in runs]
    rising = [why for why in itertools.starmap(still_rising, curves) if why]
    return rising[0] if 2 * len(rising) > len(curves) else ""


def no_verdict(rising: Mapping[str, str]) -> str:
    """Why nothing can be said of methods yet; "" if all of them have come to their end.

    rising (Mapping[str, str]): What `rising_of` says, by name of the method.
    """
    reasons = ", ".join(f"{name} {why}" for name, why in rising.items() if why)
    return f"Not trained long enough: {reasons}. Give more steps." if reasons else ""
