"""A report's content: the runs of a corpus, and one method side by side with the baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from thinc.types import Ints4d

from ...corpus.statistics import Statistics
from ..convergence import no_verdict
from ..significance import (
    NO_CLAIM,
    Interval,
    Metric,
    Verdict,
    corrected,
    corrected_by_score,
    intervals,
    judge,
    named_metrics,
)
from .inputs import read_runs, read_statistics, written
from .systems import AVERAGES, Choice, System, choose, group, on_shared_seeds

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
    averages = [f"{kind} F1" for kind in HEADLINES if f"{kind} F1" in metrics]
    raw = {
        system.name: _judge(choice.baseline, system, {name: metrics[name] for name in names})
        for system in systems
        if system.name != choice.baseline.name
        for names in [list(metrics) if system.name == choice.ours.name else averages]
    }
    on_ours = raw[choice.ours.name]
    verdicts = corrected_by_score({n: {k: own[k] for k in averages} for n, own in raw.items()})
    if choice.by_dev:  # one comparison, chosen without a look at test: nothing to correct for
        verdicts[choice.ours.name] = {name: on_ours[name] for name in averages}
    # F1 of a type that the test part does not hold is always 0
    gold = choice.ours.runs[0].counts.counts[..., 2].sum(axis=0)
    types = [f"F1 of {label}" for label, n in zip(stats.labels, gold, strict=False) if n]
    on_ours = {**on_ours, **corrected({name: on_ours[name] for name in types})}
    on_ours |= verdicts[choice.ours.name]
    for system in systems:
        if system.name in verdicts and (choice.baseline.rising() or system.rising()):
            verdicts[system.name] = _unclaimed(verdicts[system.name])
    if choice.baseline.rising() or choice.ours.rising():
        on_ours = _unclaimed(on_ours)
    return Report(stats, systems, choice, compare(choice, stats, on_ours), verdicts, date)


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
    counts, metrics = [system.counts() for system in sides], f1_metrics(statistics)
    scores = [intervals(own, metrics) for own in counts] + [{}]
    every = named_metrics(statistics.labels, statistics.tail)
    sums = counts[0].sum(axis=0)  # (n_seeds, n_types + 1, 3), of ours

    def row(name: str, score: str) -> ScoreRow:
        (value, ends), (other, other_ends) = (_cells(own.get(score)) for own in scores[:2])
        return ScoreRow(name, other, value, ends, other_ends, verdicts.get(score))

    rows = []
    for i, label in enumerate(statistics.labels):
        support, is_rare = int(sums[0, i, 2]), label in statistics.tail
        p, r = (float(every[f"{kind} of {label}"](sums).mean()) for kind in ("precision", "recall"))
        rows.append(row(label, f"F1 of {label}")._replace(support=support, rare=is_rare, p=p, r=r))
    rows.sort(key=lambda row: -row.support)  # stable: declared order among equals
    averages = {kind: row(kind, f"{kind} F1") for kind in AVERAGES}
    units = (ours.runs[0].counts.unit, len(counts[0]), len(ours.runs))
    early = no_verdict({system.name: system.rising() for system in sides})
    is_rare = any(row.rare and row.support for row in rows)
    types = [i for i, t in enumerate(statistics.labels) if t in statistics.tail or not is_rare]
    mentions = [own[:, :, types].sum(axis=(0, 2)).mean(axis=0).tolist() for own in counts]
    names = (choice.baseline and choice.baseline.name, choice.ours.name, choice.by_dev)
    return Comparison(*names, *units, rows, averages, early, is_rare, mentions)


def _cells(found: Interval | None) -> tuple[float | None, Ends | None]:
    """A score and its interval; an interval that no draw changes is not certainty, and left out."""
    if found is None:
        return None, None
    return found.value, (found.low, found.high) if found.low < found.high else None


def f1_metrics(statistics: Statistics) -> dict[str, Metric]:
    """The F1 scores that a report shows, averages and types, by name."""
    metrics = named_metrics(statistics.labels, statistics.tail)
    shown = [f"{kind} F1" for kind in AVERAGES] + [f"F1 of {t}" for t in statistics.labels]
    return {name: metrics[name] for name in shown if name in metrics}


def ranges_of(counts: Ints4d, metrics: dict[str, Metric]) -> dict[str, Ends | None]:
    """Intervals by score; null where no draw changes it.

    counts (Ints4d): Of a system. metrics (Dict[str, Metric]): Scores by name.
    """
    return {name: _cells(own)[1] for name, own in intervals(counts, metrics).items()}


def _judge(baseline: System, system: System, metrics: Mapping[str, Metric]) -> dict[str, Verdict]:
    """Verdicts by score, on the seeds that both have; uncorrected."""
    first, second, is_paired = on_shared_seeds(baseline, system)
    unit = second.runs[0].counts.unit
    return judge(first.counts(), second.counts(), metrics, unit, is_paired=is_paired)


def _unclaimed(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Verdicts on models that were not trained long enough: the numbers stay, nothing is claimed."""
    return {name: verdict._replace(outcome=NO_CLAIM) for name, verdict in verdicts.items()}
