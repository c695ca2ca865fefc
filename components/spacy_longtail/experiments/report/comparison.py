"""A method side by side with the baseline: per type, averaged, and what may be said of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from thinc.types import Ints4d

from ..significance import Interval, Metric, Verdict, describe, intervals, judge, named_metrics
from .inputs import NOTHING
from .systems import AVERAGES, Choice, System, mean, on_shared_seeds

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
    rows = []
    for label in labels:
        f, p, r = (Pair(_type_mean(baseline, label, k), _type_mean(ours, label, k)) for k in "fpr")
        support = int(_type_scores(ours, label, "support")[0])
        name = f"F1 of {label}"
        more = (ranges.get(name), base_ranges.get(name), found.get(name))
        rows.append(TypeRow(label, support, label in tail, f, p, r, *more))
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {}
    for kind in AVERAGES:
        pair = Pair(mean(baseline.scores(kind)) if baseline else None, mean(ours.scores(kind)))
        averages[kind] = Average(pair, ranges.get(f"{kind} F1"), found.get(f"{kind} F1"))
    counts = ours.runs[0].counts
    name_of_baseline = baseline.name if baseline else None
    units = (counts.unit, len(counts.counts), len(ours.runs))
    return Comparison(name_of_baseline, ours.name, by_dev, *units, rows, averages)


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
        found = {kind: comparison.averages[kind] for kind in HEADLINES}
        parts = []
        for kind, average in found.items():
            own = average.interval
            ends = "" if own is None else f" (95 % interval {percent(own.low)} to {percent(own.high)})"
            if average.scores.ours is not None:
                parts.append(f"{kind} F1 {percent(average.scores.ours)}{ends}")
        scores = f"In points of 100: {', '.join(parts)}."
        return f"{ours} alone: there is no other model to hold it against.", [scores]
    averages = {
        f"{kind} F1": found
        for kind in HEADLINES
        if (found := comparison.averages[kind].verdict) is not None
    }
    better = [name for name, found in averages.items() if found.outcome == "better"]
    worse = [name for name, found in averages.items() if found.outcome == "worse"]
    if better and worse:
        headline = (
            f"{ours} is better than {baseline} on {_listed(better)}, and worse on {_listed(worse)}."
        )
    elif better:
        rest = [name for name in averages if name not in better]
        tail = f"; on {_listed(rest)} no difference is shown" if rest else ""
        headline = f"{ours} is better than {baseline} on {_listed(better)}{tail}."
    elif worse:
        headline = f"{ours} is worse than {baseline} on {_listed(worse)}."
    else:
        headline = f"No difference between {ours} and {baseline} is shown."
    rare = {
        f"F1 of {row.label}": row.verdict
        for row in comparison.rows
        if row.rare and row.support and row.verdict is not None
    }
    return headline, describe(ours, {**averages, **rare})


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
