"""A report's content: the runs of a corpus, and one method side by side with the baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from thinc.types import Ints4d

from ...corpus.statistics import Statistics
from ..convergence import no_verdict
from ..significance import (
    NO_CLAIM,
    Metric,
    Verdict,
    corrected,
    corrected_by_score,
    intervals,
    judge,
    named_metrics,
)
from .inputs import read_runs, read_statistics, written
from .systems import AVERAGES, Choice, System, choose, group, mean, on_shared_seeds

HEADLINES = ("macro", "tail", "micro")  # the averages that a report speaks of first

Ends = tuple[float, float]  # of an interval


class ScoreRow(NamedTuple):
    """F1 of a type, or an average of F1. Scores are means over seeds, null where there are none."""

    name: str
    baseline: float | None
    ours: float | None
    interval: Ends | None  # of ours
    baseline_interval: Ends | None
    verdict: Verdict | None  # null without a baseline
    support: int = 0  # gold mentions of a type in the test part
    rare: bool = False
    p: float | None = None  # precision of ours
    r: float | None = None  # recall

    @property
    def difference(self) -> float | None:
        return None if self.baseline is None or self.ours is None else self.ours - self.baseline


class Comparison(NamedTuple):
    baseline: str | None
    ours: str
    by_dev: bool  # ours was chosen by the dev score, not named by the caller
    unit: str  # that intervals and tests resample: document or sentence
    n_units: int
    n_seeds: int  # that scores are means of
    rows: list[ScoreRow]  # the types with the most mentions first
    averages: dict[str, ScoreRow]
    early: str  # why nothing can be said yet; "" if both were trained long enough
    is_rare: bool  # whether the mentions are of rare types; else of all
    # right, predicted and gold, means over seeds: of ours, and of the baseline if there is one
    mentions: list[list[float]]


class Report(NamedTuple):
    """All that a report says, before it is written down."""

    statistics: Statistics  # of the corpus
    systems: list[System]
    choice: Choice
    comparison: Comparison
    # of all systems but the baseline, after Holm but for one chosen on dev
    verdicts: dict[str, dict[str, Verdict]]
    date: str  # on which the evaluations were written


def read_systems(statistics: Path, evaluations: list[Path]) -> tuple[Statistics, list[System]]:
    """A corpus's statistics, and the runs on it by method."""
    stats = read_statistics(statistics)
    return stats, group(read_runs(evaluations, stats))


def read_report(
    statistics: Path, evaluations: list[Path], baseline: str | None = None, ours: str | None = None
) -> Report:
    """Read runs of a corpus and compare them.

    statistics (Path): The corpus statistics, as the command `stats` writes them.
    evaluations (List[Path]): One or more, of any methods and seeds, all on the same test part.
    baseline (Optional[str]): Name of the method to compare with; null takes the one called
        "baseline".
    ours (Optional[str]): Name of the one to compare; null takes the best macro F1 on dev.
    RETURNS (Report): What there is to say.
    """
    stats, systems = read_systems(statistics, evaluations)
    choice, date = choose(systems, baseline, ours), written(evaluations)
    if choice.baseline is None:
        return Report(stats, systems, choice, compare(choice, stats, {}), {}, date)
    metrics = f1_metrics(stats)
    averages = {name: metrics[name] for kind in HEADLINES if (name := f"{kind} F1") in metrics}
    on_ours = _judge(choice.baseline, choice.ours, metrics)
    raw = {
        system.name: _judge(choice.baseline, system, averages)
        for system in systems
        if system.name not in (choice.baseline.name, choice.ours.name)
    }
    raw[choice.ours.name] = {name: on_ours[name] for name in averages}
    on_ours |= corrected({name: on_ours[name] for name in _tested_types(choice.ours, stats)})
    verdicts = corrected_by_score(raw)
    if choice.by_dev:  # one comparison, chosen without a look at test: nothing to correct for
        verdicts[choice.ours.name] = raw[choice.ours.name]
    is_early = bool(choice.baseline.rising())
    for system in systems:
        if system.name in verdicts and (is_early or system.rising()):
            verdicts[system.name] = _unclaimed(verdicts[system.name])
    if is_early or choice.ours.rising():
        on_ours = _unclaimed(on_ours)
    comparison = compare(choice, stats, {**on_ours, **verdicts[choice.ours.name]})
    return Report(stats, systems, choice, comparison, verdicts, date)


def compare(choice: Choice, statistics: Statistics, verdicts: Mapping[str, Verdict]) -> Comparison:
    """Compare the chosen method with the baseline on the seeds they share, or look at it alone.

    choice (Choice): The two.
    statistics (Statistics): Of the corpus: it says which types are rare.
    verdicts (Mapping[str, Verdict]): On ours, by name of the score; none without a baseline.
    RETURNS (Comparison): Scores in [0, 1], means over seeds.
    """
    baseline, ours = choice.baseline, choice.ours
    if baseline is not None:
        baseline, ours, _ = on_shared_seeds(baseline, ours)
    sides = [system for system in (ours, baseline) if system is not None]
    metrics = f1_metrics(statistics)
    ranges = [ranges_of(system.counts(), metrics) for system in sides] + [{}]

    def row(name: str, score: str, values: list[float | None]) -> ScoreRow:
        of_ours, of_baseline, *_ = [*values, None]
        ends = (ranges[0].get(score), ranges[1].get(score))
        return ScoreRow(name, of_baseline, of_ours, *ends, verdicts.get(score))

    rows = []
    for label in statistics.labels:
        means = [system.type_means(label) for system in sides]
        support = ours.runs[0].evaluation.scores.of_type(label).support
        own = row(label, f"F1 of {label}", [f for *_, f in means])
        own = own._replace(support=support, rare=label in statistics.tail)
        rows.append(own._replace(p=means[0][0], r=means[0][1]))
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {
        kind: row(kind, f"{kind} F1", [mean(system.scores(kind)) for system in sides])
        for kind in AVERAGES
    }
    counts = ours.runs[0].counts
    units = (counts.unit, len(counts.counts), len(ours.runs))
    early = no_verdict({system.name: system.rising() for system in sides})
    is_rare = any(row.rare and row.support for row in rows)
    types = [i for i, t in enumerate(statistics.labels) if t in statistics.tail or not is_rare]
    mentions = [system.counts()[:, :, types].sum(axis=(0, 2)).mean(axis=0).tolist() for system in sides]
    names = (choice.baseline and choice.baseline.name, choice.ours.name, choice.by_dev)
    return Comparison(*names, *units, rows, averages, early, is_rare, mentions)


def f1_metrics(statistics: Statistics) -> dict[str, Metric]:
    """The F1 scores that a report shows, averages and types, by name."""
    metrics = named_metrics(statistics.labels, statistics.tail)
    shown = [f"{kind} F1" for kind in AVERAGES] + [f"F1 of {t}" for t in statistics.labels]
    return {name: metrics[name] for name in shown if name in metrics}


def ranges_of(counts: Ints4d, metrics: dict[str, Metric]) -> dict[str, Ends]:
    """Intervals by score, without those that no draw changes: this is not certainty.

    counts (Ints4d): Of a system. metrics (Dict[str, Metric]): Scores by name.
    """
    found = intervals(counts, metrics)
    return {name: (low, high) for name, (_, low, high) in found.items() if low < high}


def _judge(baseline: System, system: System, metrics: Mapping[str, Metric]) -> dict[str, Verdict]:
    """Verdicts by score, on the seeds that both have; uncorrected."""
    first, second, is_paired = on_shared_seeds(baseline, system)
    unit = second.runs[0].counts.unit
    return judge(first.counts(), second.counts(), metrics, unit, is_paired=is_paired)


def _tested_types(system: System, stats: Statistics) -> list[str]:
    """The scores of the types that the test part holds: F1 of another one is always 0."""
    gold = system.runs[0].counts.counts[..., 2].sum(axis=0)
    return [f"F1 of {label}" for label, n in zip(stats.labels, gold, strict=False) if n]


def _unclaimed(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Verdicts on models that were not trained long enough: the numbers stay, nothing is claimed."""
    return {name: verdict._replace(outcome=NO_CLAIM) for name, verdict in verdicts.items()}
