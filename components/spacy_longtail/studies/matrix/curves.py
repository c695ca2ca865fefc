"""Scores by the size of the training data, or by its share of entity tokens, over partitions."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from ...evaluation.convergence import rising_of
from ...evaluation.report.systems import AVERAGES, mean, spread
from ...evaluation.significance import LEAST_SEEDS, holm, paired_permutation
from ...output.amounts import signed
from ..trials.records import TrialRecord

ALPHA = 0.05

Over = tuple[float | None, float | None]  # mean and standard deviation, in [0, 1]
Points = dict[float, dict[int, float]]  # F1 by size or share, ascending, and by partition


class Curves(NamedTuple):
    """The curves of one corpus."""

    x_name: str  # "sentences" or "% entity tokens"
    average: str  # "macro" or "micro"
    lines: dict[str, Points]  # by method
    findings: list[str]

    def table(self) -> tuple[list[float], list[tuple[str, list[Over]]]]:
        """The sizes, and each method's mean and deviation at each of them."""
        sizes = sorted({x for points in self.lines.values() for x in points})
        rows = []
        for name, points in self.lines.items():
            scores = [list(points.get(x, {}).values()) for x in sizes]
            rows.append((name, [(mean(values), spread(values)) for values in scores]))
        return sizes, rows


def read_curves(records: Sequence[TrialRecord], baseline: str, average: str = "macro") -> Curves:
    """The curves of the trials on one corpus that have a draw.

    records (Sequence[TrialRecord]): Of finished trials.
    baseline (str): Name of the method that others are compared with.
    average (str): "macro" or "micro".
    RETURNS (Curves): With what may be said of them.
    """
    by_size: dict[str, dict[float, list[TrialRecord]]] = {}
    x_name = "sentences"
    for record in records:
        if (draw := record.draw) is not None:
            x_name, x = draw.x
            by_size.setdefault(record.method, {}).setdefault(x, []).append(record)
    lines, early = {}, {}
    for name, trials in by_size.items():
        values = {x: {r.seed: r.score("test", AVERAGES[average]) for r in trials[x]} for x in trials}
        scores = {x: values[x] for x in sorted(values)}
        lines[name] = {x: {s: f for s, f in at.items() if f is not None} for x, at in scores.items()}
        early[name] = {x for x, rs in trials.items() if rising_of(r.data() for r in rs)}
    findings = []
    for name in [name for name in lines if name != baseline and baseline in lines]:
        rising = early[name] | early[baseline]
        line, other = ({x: p for x, p in lines[n].items() if x not in rising} for n in (name, baseline))
        findings += compare_lines(name, line, baseline, other, x_name, average)
        if rising:
            sizes = ", ".join(f"{x:g}" for x in sorted(rising))
            findings.append(f"{name} against {baseline} at {sizes} {x_name}: not trained long enough.")
    return Curves(x_name, average, lines, findings)


def compare_lines(
    name: str, line: Points, baseline: str, other: Points, x_name: str, average: str
) -> list[str]:
    """How far a method is ahead of the baseline at each size, on the partitions that both have.

    RETURNS (List[str]): A sentence, and one on tests where a size has six partitions; none if the
        two share no size.
    """
    gains, tests = {}, {}
    for x, scores in line.items():
        if shared := sorted(set(scores) & set(other.get(x, {}))):
            first, second = [other[x][i] for i in shared], [scores[i] for i in shared]
            gains[x] = 100 * statistics.mean(b - a for a, b in zip(first, second, strict=True))
            if len(shared) >= LEAST_SEEDS:
                tests[x] = paired_permutation(first, second)
    if not gains:
        return []
    said = ", ".join(f"{signed(gain)} at {x:g}" for x, gain in gains.items())
    texts = [f"{name} against {baseline}, points of {average} F1 by {x_name}: {said}."]
    if tests:
        adjusted = zip(tests, holm(list(tests.values())).tolist(), strict=True)
        shown = [f"{x:g}" for x, p in adjusted if p <= ALPHA]
        places = f"at {', '.join(shown)} {x_name}" if shown else "nowhere"
        texts.append(f"A paired permutation test over partitions, after Holm, shows this {places}.")
    return texts
