"""A method side by side with the baseline: per type, averaged, and what may be said of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from thinc.types import Ints4d

from ..significance import (
    LEAST_SEEDS,
    Interval,
    Metric,
    Verdict,
    describe,
    intervals,
    judge,
    named_metrics,
)
from .inputs import NOTHING
from .systems import AVERAGES, Choice, System, mean, on_shared_seeds

OF_MODELS = f"With fewer than {LEAST_SEEDS} seeds this is about the models trained here, not the method."
HEADLINES = ("macro", "tail", "micro")  # the averages that the verdict speaks of


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


def compare(
    choice: Choice, statistics: dict[str, Any], verdicts: Mapping[str, Verdict] | None = None
) -> Comparison:
    """Hold the chosen method against the baseline on the seeds they share, or look at it alone.

    choice (Choice): The two.
    statistics (Dict[str, Any]): Of the corpus: it says which types are rare.
    verdicts (Optional[Mapping[str, Verdict]]): On averages, made with other methods in view.
    RETURNS (Comparison): Scores in [0, 1], means over seeds.
    RAISES (ValueError): L406.
    """
    baseline, ours, by_dev = choice
    labels, tail = statistics["labels"], statistics["tail"]
    names = [*(f"{kind} F1" for kind in AVERAGES), *(f"F1 of {label}" for label in labels)]
    metrics = named_metrics(labels, tail)
    wanted = {name: metrics[name] for name in names if name in metrics}
    base_ranges: dict[str, Interval] = {}
    found: dict[str, Verdict] = {}
    if baseline is not None:
        baseline, ours, is_paired = on_shared_seeds(baseline, ours)
        base_ranges = ranges_of(baseline.counts(), wanted)
        unit = ours.runs[0].counts.unit
        found = judge(baseline.counts(), ours.counts(), wanted, unit, is_paired=is_paired)
        found |= verdicts or {}
    ranges = ranges_of(ours.counts(), wanted)
    measured = Measured(baseline, ours, ranges, base_ranges, found)
    rows = [_type_row(measured, label, label in tail) for label in labels]
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {kind: _average(measured, kind) for kind in AVERAGES}
    counts = ours.runs[0].counts
    units = (counts.unit, len(counts.counts), len(ours.runs))
    return Comparison(baseline and baseline.name, ours.name, by_dev, *units, rows, averages)


class Measured(NamedTuple):
    """Two systems, and what was measured of them, by name of the score."""

    baseline: System | None
    ours: System
    ranges: dict[str, Interval]
    base_ranges: dict[str, Interval]
    verdicts: dict[str, Verdict]


def _type_row(measured: Measured, label: str, is_rare: bool) -> TypeRow:
    sides = (measured.baseline, measured.ours)
    f, p, r = (Pair(*(_type_mean(system, label, kind) for system in sides)) for kind in "fpr")
    support = int(_type_scores(measured.ours, label, "support")[0])
    name = f"F1 of {label}"
    interval, of_baseline = measured.ranges.get(name), measured.base_ranges.get(name)
    verdict = measured.verdicts.get(name)
    return TypeRow(label, support, is_rare, f, p, r, interval, of_baseline, verdict)


def _average(measured: Measured, kind: str) -> Average:
    baseline, name = measured.baseline, f"{kind} F1"
    pair = Pair(mean(baseline.scores(kind)) if baseline else None, mean(measured.ours.scores(kind)))
    return Average(pair, measured.ranges.get(name), measured.verdicts.get(name))


def hold_against(
    baseline: System, systems: list[System], metrics: Mapping[str, Metric]
) -> dict[str, dict[str, Verdict]]:
    """Verdicts on each system, by score, on the seeds that it shares with the baseline; uncorrected.

    baseline (System): The baseline. systems (List[System]): The others.
    metrics (Mapping[str, Metric]): Scores by name.
    RETURNS (Dict[str, Dict[str, Verdict]]): By name of the system, then of the score.
    RAISES (ValueError): L406.
    """
    found = {}
    for system in systems:
        first, second, is_paired = on_shared_seeds(baseline, system)
        unit = second.runs[0].counts.unit
        found[system.name] = judge(first.counts(), second.counts(), metrics, unit, is_paired=is_paired)
    return found


def ranges_of(counts: Ints4d, metrics: dict[str, Metric]) -> dict[str, Interval]:
    """Intervals of scores, but of those that no draw changes: none found, or all, is no certainty.

    counts (Ints4d): Of a system. metrics (Dict[str, Metric]): Scores by name.
    RETURNS (Dict[str, Interval]): By name. RAISES (ValueError): L406.
    """
    found = intervals(counts, metrics)
    return {name: interval for name, interval in found.items() if interval.low < interval.high}


def _type_scores(system: System, label: str, key: str) -> list[float]:
    return system.values(lambda data: data["scores"]["ents_per_type"].get(label, NOTHING)[key])


def _type_mean(system: System | None, label: str, key: str) -> float | None:
    return None if system is None else mean(_type_scores(system, label, key))


def verdict(comparison: Comparison) -> tuple[str, list[str]]:
    """What the numbers say, before anything that praises them.

    comparison (Comparison): The scores.
    RETURNS (Tuple[str, List[str]]): A headline, and sentences with averages and rare types in numbers.
    """
    ours, baseline = comparison.ours, comparison.baseline
    if baseline is None:
        alone = f"{ours} alone: there is no other model to hold it against."
        return alone, [f"In points of 100: {', '.join(_scores(comparison))}."]
    averages = {
        f"{kind} F1": found
        for kind in HEADLINES
        if (found := comparison.averages[kind].verdict) is not None
    }
    rare = {
        f"F1 of {row.label}": row.verdict
        for row in comparison.rows
        if row.rare and row.support and row.verdict is not None
    }
    seeds = f"{comparison.n_seeds} seed{'s' * (comparison.n_seeds > 1)}"
    findings = describe(ours, {**averages, **rare})
    if comparison.n_seeds >= LEAST_SEEDS:
        return _headline(ours, baseline, averages), findings
    return _headline(f"{ours} as trained here ({seeds})", baseline, averages), [*findings, OF_MODELS]


def _scores(comparison: Comparison) -> list[str]:
    found = []
    for kind in HEADLINES:
        scores, interval, _ = comparison.averages[kind]
        if scores.ours is not None:
            ends = "" if interval is None else [percent(end) for end in (interval.low, interval.high)]
            shown = f" (95 % interval {' to '.join(ends)})" if ends else ""
            found.append(f"{kind} F1 {percent(scores.ours)}{shown}")
    return found


def _headline(ours: str, baseline: str, averages: Mapping[str, Verdict]) -> str:
    by_outcome: dict[str, list[str]] = {}
    for name, found in averages.items():
        by_outcome.setdefault(found.outcome, []).append(name)
    claims = [
        f"{how} than {baseline} on {_listed(by_outcome[how])}"
        for how in ("better", "worse")
        if how in by_outcome
    ]
    if not claims:
        return f"No difference between {ours} and {baseline} is shown."
    rest = [name for name, found in averages.items() if found.outcome not in ("better", "worse")]
    tail = f"; on {_listed(rest)} no difference is shown" if rest else ""
    return f"{ours} is {', and '.join(claims)}{tail}."


def _listed(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(score: float | None) -> str:
    """A score in [0, 1] as points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Points with a sign, a real minus; what rounds to nothing has none."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def p_value(p: float) -> str:
    """A p value with three decimals."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
