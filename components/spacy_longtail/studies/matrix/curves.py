"""Scores by the size of the training data, or by its share of entity tokens, over partitions."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...evaluation.convergence import Rising, rising_of
from ...evaluation.report.wording import signed
from ...evaluation.significance import LEAST_SEEDS, holm, paired_permutation
from ..trials.records import TrialRecord

ALPHA = 0.05


class Point(NamedTuple):
    x: float  # sentences, or the share of entity tokens
    scores: dict[int, float]  # F1 by partition

    @property
    def mean(self) -> float:
        return statistics.mean(self.scores.values())

    @property
    def spread(self) -> float | None:
        """Standard deviation over partitions; one has none."""
        return statistics.stdev(self.scores.values()) if len(self.scores) > 1 else None


class Curves(NamedTuple):
    """The curves of one corpus."""

    x_name: str  # "sentences" or "% entity tokens"
    average: str  # "macro" or "micro"
    lines: dict[str, list[Point]]  # by method, x ascending
    findings: list[str]


SCORES = {"macro": "ents_macro_f", "micro": "ents_f"}


def read_curves(records: Sequence[TrialRecord], baseline: str, average: str = "macro") -> Curves:
    """The curves of the trials on one corpus that have a draw.

    records (Sequence[TrialRecord]): Of finished trials.
    baseline (str): Name of the method that others are compared with.
    average (str): "macro" or "micro".
    RETURNS (Curves): With what may be said of them. RAISES (ValueError): L406.
    """
    found: dict[str, dict[float, list[TrialRecord]]] = {}
    x_name = "sentences"
    for record in records:
        if (draw := record.draw) is not None:
            x_name = draw.x_name
            found.setdefault(record.method, {}).setdefault(draw.x, []).append(record)
    lines = {
        name: [point for x in sorted(own) if (point := _point(x, own[x], average)).scores]
        for name, own in found.items()
    }
    rising = {
        name: {x: rising_of(run.data() for run in runs) for x, runs in own.items()}
        for name, own in found.items()
    }
    findings = []
    for name in lines:
        if name != baseline and baseline in lines:
            early = {x: r for n in (name, baseline) for x, r in rising[n].items() if r is not None}
            own, other = ([p for p in lines[n] if p.x not in early] for n in (name, baseline))
            findings += compare_lines(name, own, baseline, other, x_name, average)
            if early:
                findings.append(_too_early(name, baseline, early, x_name))
    most = max((len(point.scores) for points in lines.values() for point in points), default=0)
    if findings and most < LEAST_SEEDS:
        findings.append(f"With fewer than {LEAST_SEEDS} partitions none of this is tested.")
    return Curves(x_name, average, lines, findings)


def _point(x: float, records: Sequence[TrialRecord], average: str) -> Point:
    """Of the records that have the score."""
    found = ((r.seed, r.score("test", SCORES[average])) for r in records)
    return Point(x, {seed: f for seed, f in found if f is not None})


def _too_early(name: str, baseline: str, early: Mapping[float, Rising], x_name: str) -> str:
    sizes = ", ".join(f"{x:g}" for x in sorted(early))
    more = max(found.more for found in early.values())
    return (
        f"{name} against {baseline} at {sizes} {x_name}: not trained long enough."
        f" It takes {more:,} steps more at least."
    )


class Gap(NamedTuple):
    x: float
    mean: float  # method minus baseline, over the partitions that both have
    n: int
    p: float | None  # exact permutation test over partitions; null with fewer than six


def gaps(own: list[Point], other: list[Point]) -> list[Gap]:
    """How far a method is ahead at each size that both have, on the same partitions.

    own (List[Point]): Of the method. other (List[Point]): Of the baseline.
    RETURNS (List[Gap]): x ascending. RAISES (ValueError): L406.
    """
    at = {point.x: point.scores for point in other}
    found = []
    for x, scores in own:
        shared = sorted(set(scores) & set(at.get(x, {})))
        if shared:
            first, second = [at[x][i] for i in shared], [scores[i] for i in shared]
            mean = statistics.mean(b - a for a, b in zip(first, second, strict=True))
            p = paired_permutation(first, second) if len(shared) >= LEAST_SEEDS else None
            found.append(Gap(x, mean, len(shared), p))
    return found


def crossing(found: Sequence[Gap]) -> float | None:
    """Where a method and its baseline change places, if their means do so exactly once.

    found (Sequence[Gap]): x ascending, above 0.
    RETURNS (Optional[float]): x, interpolated along its logarithm.
    """
    known = [gap for gap in found if gap.mean]
    turns = [(a, b) for a, b in itertools.pairwise(known) if a.mean * b.mean < 0]
    if len(turns) != 1:
        return None
    ((left, right),) = turns
    part = left.mean / (left.mean - right.mean)
    return math.exp(math.log(left.x) + part * (math.log(right.x) - math.log(left.x)))


def compare_lines(
    name: str, own: list[Point], baseline: str, other: list[Point], x_name: str, average: str
) -> list[str]:
    """Where a method's curve is ahead of the baseline's, and how sure that is.

    RETURNS (List[str]): A sentence or two; none if they share no size.
    """
    found = gaps(own, other)
    if not found:
        return []
    parts = sorted({gap.n for gap in found})
    over = f"{parts[0]}" if len(parts) == 1 else f"{parts[0]} to {parts[-1]}"
    head = (
        f"{name} against {baseline}, {average} F1, means over {over} partition{'s' * (parts[-1] > 1)}: "
    )
    texts = [f"{head}{_places(found, x_name)}."]
    tested = [gap for gap in found if gap.p is not None]
    if not tested:
        return texts
    adjusted = holm([gap.p for gap in tested if gap.p is not None])
    shown = [
        f"{gap.x:g} ({signed(100 * gap.mean)})"
        for gap, p in zip(tested, adjusted.tolist(), strict=True)
        if p <= ALPHA
    ]
    at = f"shown at {', '.join(shown)} {x_name}" if shown else "shown nowhere"
    texts.append(f"By the paired permutation test over partitions, after Holm, a difference is {at}.")
    return texts


def _places(found: list[Gap], x_name: str) -> str:
    differences = ", ".join(f"{signed(100 * gap.mean)} at {gap.x:g}" for gap in found)
    if all(gap.mean > 0 for gap in found):
        return f"ahead at all sizes ({differences} {x_name})"
    if all(gap.mean <= 0 for gap in found):
        return f"ahead at none ({differences} {x_name})"
    x = crossing(found)
    if x is None:
        return f"the curves cross more than once ({differences} {x_name})"
    side = "below" if next(gap for gap in found if gap.mean).mean > 0 else "above"
    return f"ahead {side} about {_rounded(x)} {x_name} ({differences})"


def _rounded(x: float) -> str:
    """Two digits: interpolation knows no more."""
    return f"{float(f'{x:.2g}'):g}"
