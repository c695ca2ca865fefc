"""A report's content: the runs of a corpus, and one method side by side with the baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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
from .systems import AVERAGES, System, choose, group, on_shared_seeds, read_runs, read_statistics

HEADLINES = ("macro", "tail", "micro")  # the averages that a report speaks of first

Ends = tuple[float, float]  # of an interval
Verdicts = Mapping[str, Verdict]  # by score


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


class Report(NamedTuple):
    """All that a report says, before it is written down. Scores are in [0, 1], means over seeds."""

    statistics: Statistics  # of the corpus
    systems: list[System]
    baseline: str | None  # null: there is one method, and nothing to compare it with
    ours: str
    by_dev: bool  # ours was chosen by the dev score, not named by the caller
    unit: str  # that intervals and tests resample: document or sentence
    n_units: int
    n_seeds: int  # that scores are means of: those that both methods have
    rows: list[ScoreRow]  # the types with the most mentions first
    averages: dict[str, ScoreRow]
    early: str  # why nothing can be said yet; "" if both were trained long enough
    is_rare: bool  # whether the mentions are of rare types; else of all
    # right, predicted and gold, means over seeds: of ours, and of the baseline if there is one
    mentions: list[list[float]]
    # of all systems but the baseline, after Holm but for one chosen on dev
    verdicts: dict[str, dict[str, Verdict]]


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
    other, best, by_dev = choose(systems, baseline, ours)
    metrics = named_metrics(stats.labels, stats.tail)
    names = [f"{kind} F1" for kind in AVERAGES] + [f"F1 of {label}" for label in stats.labels]
    shown = {name: metrics[name] for name in names if name in metrics}
    on_ours, verdicts = _verdicts(stats, systems, other, best, by_dev, shown) if other else ({}, {})
    if other is not None:
        other, best, _ = on_shared_seeds(other, best)
    sides = [system for system in (best, other) if system is not None]
    counts = [system.counts() for system in sides]
    scores = [intervals(side, shown) for side in counts] + [{}]
    sums = counts[0].sum(axis=0)  # (n_seeds, n_types + 1, 3), of ours

    def row(name: str, score: str) -> ScoreRow:
        (value, ends), (theirs, their_ends) = (_cells(side.get(score)) for side in scores[:2])
        return ScoreRow(name, theirs, value, ends, their_ends, on_ours.get(score))

    rows = []
    for i, label in enumerate(stats.labels):
        support, is_rare = int(sums[0, i, 2]), label in stats.tail
        p, r = (float(metrics[f"{kind} of {label}"](sums).mean()) for kind in ("precision", "recall"))
        rows.append(row(label, f"F1 of {label}")._replace(support=support, rare=is_rare, p=p, r=r))
    is_rare = any(row.rare and row.support for row in rows)
    types = [i for i, label in enumerate(stats.labels) if label in stats.tail or not is_rare]
    return Report(
        statistics=stats,
        systems=systems,
        baseline=other and other.name,
        ours=best.name,
        by_dev=by_dev,
        unit=best.runs[0].counts.unit,
        n_units=len(counts[0]),
        n_seeds=len(best.runs),
        rows=sorted(rows, key=lambda row: -row.support),  # stable: declared order among equals
        averages={kind: row(kind, f"{kind} F1") for kind in AVERAGES},
        early=no_verdict({system.name: system.rising() for system in sides}),
        is_rare=is_rare,
        mentions=[side[:, :, types].sum(axis=(0, 2)).mean(axis=0).tolist() for side in counts],
        verdicts=verdicts,
    )


def _verdicts(
    stats: Statistics,
    systems: list[System],
    baseline: System,
    ours: System,
    by_dev: bool,
    metrics: dict[str, Metric],
) -> tuple[dict[str, Verdict], dict[str, dict[str, Verdict]]]:
    """Verdicts on ours in each score, and on all systems in the averages."""
    averages = {name: metrics[name] for kind in HEADLINES if (name := f"{kind} F1") in metrics}
    raw = {}
    for system in systems:
        if system.name != baseline.name:
            first, second, is_paired = on_shared_seeds(baseline, system)
            wanted = metrics if system.name == ours.name else averages
            unit = second.runs[0].counts.unit
            raw[system.name] = judge(first.counts(), second.counts(), wanted, unit, is_paired=is_paired)
    on_ours = raw[ours.name]
    verdicts = corrected_by_score({n: {k: by_score[k] for k in averages} for n, by_score in raw.items()})
    if by_dev:  # one comparison, chosen without a look at test: nothing to correct for
        verdicts[ours.name] = {name: on_ours[name] for name in averages}
    # F1 of a type that the test part does not hold is always 0
    gold = ours.runs[0].counts.counts[..., 2].sum(axis=0)
    types = [f"F1 of {label}" for label, n in zip(stats.labels, gold, strict=False) if n]
    on_ours = {**on_ours, **corrected({name: on_ours[name] for name in types}), **verdicts[ours.name]}
    # of models that were not trained long enough the numbers stay, and nothing is claimed
    for system in systems:
        if system.name in verdicts and (baseline.rising() or system.rising()):
            verdicts[system.name] = _unclaimed(verdicts[system.name])
    return _unclaimed(on_ours) if baseline.rising() or ours.rising() else on_ours, verdicts


def _unclaimed(verdicts: Verdicts) -> dict[str, Verdict]:
    return {name: verdict._replace(outcome=NO_CLAIM) for name, verdict in verdicts.items()}


def _cells(interval: Interval | None) -> tuple[float | None, Ends | None]:
    """A score and its interval; an interval that no draw changes is not certainty, and left out."""
    if interval is None:
        return None, None
    return interval.value, (interval.low, interval.high) if interval.low < interval.high else None
