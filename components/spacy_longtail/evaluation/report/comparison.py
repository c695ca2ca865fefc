"""A method side by side with the baseline: per type, averaged, and what may be said of it."""

from collections.abc import Mapping
from typing import NamedTuple

from thinc.types import Ints4d

from ...corpus.statistics import Statistics
from ..convergence import no_verdict
from ..significance import Interval, Metric, Verdict, intervals, judge, named_metrics
from .systems import AVERAGES, Choice, System, mean, on_shared_seeds

HEADLINES = ("macro", "tail", "micro")  # the averages that a report speaks of first


class Pair(NamedTuple):
    """Means over seeds."""

    baseline: float | None
    ours: float | None

    @property
    def difference(self) -> float | None:
        if self.baseline is None or self.ours is None:
            return None
        return self.ours - self.baseline


class TypeRow(NamedTuple):
    label: str
    support: int  # gold mentions in the test part
    rare: bool
    f: Pair
    p: Pair
    r: Pair
    interval: Interval | None = None  # of ours, F1
    baseline_interval: Interval | None = None
    verdict: Verdict | None = None  # on F1; null without a baseline


class Average(NamedTuple):
    scores: Pair
    interval: Interval | None = None  # of ours
    verdict: Verdict | None = None


class Comparison(NamedTuple):
    baseline: str | None
    ours: str
    by_dev: bool  # ours was chosen by the dev score, not named by the caller
    unit: str  # that intervals and tests resample: document or sentence
    n_units: int
    n_seeds: int  # that scores are means of
    rows: list[TypeRow]  # the types with the most mentions first
    averages: dict[str, Average]
    early: str  # why nothing can be said yet; "" if both were trained long enough


def compare(
    choice: Choice, statistics: Statistics, verdicts: Mapping[str, Verdict] | None = None
) -> Comparison:
    """Compare the chosen method with the baseline on the seeds they share, or look at it alone.

    choice (Choice): The two.
    statistics (Statistics): Of the corpus: it says which types are rare.
    verdicts (Optional[Mapping[str, Verdict]]): On ours, by name of the score; null without a baseline.
    RETURNS (Comparison): Scores in [0, 1], means over seeds.
    """
    baseline, ours, by_dev = choice
    metrics = f1_metrics(statistics)
    base_ranges: dict[str, Interval] = {}
    if baseline is not None:
        baseline, ours, _ = on_shared_seeds(baseline, ours)
        base_ranges = ranges_of(baseline.counts(), metrics)
    ranges = ranges_of(ours.counts(), metrics)
    measured = Measured(baseline, ours, ranges, base_ranges, verdicts or {})
    rows = [_type_row(measured, label, label in statistics.tail) for label in statistics.labels]
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {kind: _average(measured, kind) for kind in AVERAGES}
    counts = ours.runs[0].counts
    units = (counts.unit, len(counts.counts), len(ours.runs))
    early = no_verdict({system.name: system.rising() for system in (baseline, ours) if system})
    return Comparison(baseline and baseline.name, ours.name, by_dev, *units, rows, averages, early)


class Measured(NamedTuple):
    """Two systems, and what was measured of them, by name of the score."""

    baseline: System | None
    ours: System
    ranges: dict[str, Interval]
    base_ranges: dict[str, Interval]
    verdicts: Mapping[str, Verdict]


def _type_row(measured: Measured, label: str, is_rare: bool) -> TypeRow:
    sides = (measured.baseline, measured.ours)
    means = [_type_means(system, label) for system in sides]
    f, p, r = (Pair(*values) for values in zip(*means, strict=True))
    support = measured.ours.runs[0].evaluation.scores.of_type(label).support
    name = f"F1 of {label}"
    interval, of_baseline = measured.ranges.get(name), measured.base_ranges.get(name)
    verdict = measured.verdicts.get(name)
    return TypeRow(label, support, is_rare, f, p, r, interval, of_baseline, verdict)


def _average(measured: Measured, kind: str) -> Average:
    baseline, name = measured.baseline, f"{kind} F1"
    pair = Pair(mean(baseline.scores(kind)) if baseline else None, mean(measured.ours.scores(kind)))
    return Average(pair, measured.ranges.get(name), measured.verdicts.get(name))


def f1_metrics(statistics: Statistics) -> dict[str, Metric]:
    """The F1 scores that a report shows, averages and types, by name."""
    labels, tail = statistics.labels, statistics.tail
    names = [*(f"{kind} F1" for kind in AVERAGES), *(f"F1 of {label}" for label in labels)]
    metrics = named_metrics(labels, tail)
    return {name: metrics[name] for name in names if name in metrics}


def hold_against(baseline: System, system: System, metrics: Mapping[str, Metric]) -> dict[str, Verdict]:
    """Verdicts on a system, by score, on the seeds that it shares with the baseline; uncorrected.

    baseline (System): The baseline. system (System): The other.
    metrics (Mapping[str, Metric]): Scores by name.
    RETURNS (Dict[str, Verdict]): By name of the score.
    """
    first, second, is_paired = on_shared_seeds(baseline, system)
    unit = second.runs[0].counts.unit
    return judge(first.counts(), second.counts(), metrics, unit, is_paired=is_paired)


def ranges_of(counts: Ints4d, metrics: dict[str, Metric]) -> dict[str, Interval]:
    """Intervals of scores, but of those that no draw changes: none found, or all, is not certainty.

    counts (Ints4d): Of a system. metrics (Dict[str, Metric]): Scores by name.
    RETURNS (Dict[str, Interval]): By name.
    """
    found = intervals(counts, metrics)
    return {name: interval for name, interval in found.items() if interval.low < interval.high}


def _type_means(system: System | None, label: str) -> tuple[float | None, float | None, float | None]:
    """F1, precision and recall."""
    if system is None:
        return None, None, None
    own = [run.evaluation.scores.of_type(label) for run in system.runs]
    return mean([s.f for s in own]), mean([s.p for s in own]), mean([s.r for s in own])
