"""Content of a report: the runs of a corpus, and one method compared with the baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...corpus.statistics import Statistics
from ..convergence import no_verdict
from ..significance import (
    MACRO,
    Decision,
    Interval,
    Metric,
    compare,
    correct,
    intervals,
    named_metrics,
)
from .systems import AVERAGES, System, choose, group, read_runs

HEADLINES = ("macro", "tail", "micro")  # the averages that a report mentions first

Ends = tuple[float, float]  # both ends of an interval


class ScoreRow(NamedTuple):
    """F1 of a type, or an average of F1. Scores are means over seeds, or null."""

    name: str
    baseline: float | None
    ours: float | None
    interval: Ends | None  # of ours
    baseline_interval: Ends | None
    verdict: Decision | None  # null without a baseline, and for a type without test mentions
    support: int = 0  # number of gold mentions of a type in the test part
    rare: bool = False
    p: float | None = None  # precision of ours
    r: float | None = None  # recall

    @property
    def difference(self) -> float | None:
        """Return F1 of ours minus that of the baseline, or None if one is missing."""
        return None if self.baseline is None or self.ours is None else self.ours - self.baseline


class Report(NamedTuple):
    """Content of a report. Scores are in [0, 1] and means over seeds."""

    statistics: Statistics  # of the corpus
    systems: list[System]
    baseline: str | None  # null if there is only one method
    ours: str
    by_dev: bool  # whether ours was chosen by its dev score and not by name
    unit: str  # unit of intervals and tests: document or group
    n_units: int
    n_seeds: int  # of ours
    rows: list[ScoreRow]  # the types with the most mentions first
    averages: dict[str, ScoreRow]
    early: str  # why there is no result yet, or "" if both were trained long enough
    is_rare: bool  # whether `mentions` counts rare types only
    # numbers of correct, predicted and gold mentions: of ours, then of the baseline if there is one
    mentions: list[list[float]]
    verdicts: dict[str, Decision]  # in macro F1, of all systems except the baseline


def read_report(
    stats: Statistics, evaluations: list[Path], baseline: str | None = None, ours: str | None = None
) -> Report:
    """Read runs of a corpus and compare them.

    stats (Statistics): Statistics of the corpus.
    evaluations (List[Path]): One or more evaluations of any methods and seeds, all on the same test
        part.
    baseline (Optional[str]): Name of the baseline. By default "baseline".
    ours (Optional[str]): Name of the method to compare. By default the best in macro F1 on dev.
    RETURNS (Report): Content of the report.
    """
    systems = group(read_runs(evaluations, stats))
    other, best, by_dev = choose(systems, baseline, ours)
    metrics = named_metrics(stats.labels, stats.tail)
    names = [f"{kind} F1" for kind in AVERAGES] + [f"F1 of {label}" for label in stats.labels]
    shown = {name: metrics[name] for name in names if name in metrics}
    sides = [system for system in (best, other) if system is not None]
    counts = [system.counts() for system in sides]
    scores = [intervals(side, shown) for side in counts] + [{}]
    sums = counts[0].sum(axis=0)  # (n_seeds, n_types + 1, 3), of ours
    # F1 of a type that the test part does not have is always 0
    lacking = {f"F1 of {label}" for i, label in enumerate(stats.labels) if not sums[0, i, 2]}
    tested = {name: metric for name, metric in shown.items() if name not in lacking}
    on_ours, verdicts = _decisions(systems, other, best, by_dev, tested)

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


def _decisions(
    systems: list[System],
    baseline: System | None,
    ours: System,
    by_dev: bool,
    metrics: Mapping[str, Metric],
) -> tuple[dict[str, Decision], dict[str, Decision]]:
    """Return the decisions on ours by score, and those on all systems in the primary score.

    Without a baseline there are none.

    Several systems are corrected for their number in the primary score. A system that was chosen on
    dev is one comparison, chosen without a look at test, and needs no correction.
    """
    if baseline is None:
        return {}, {}
    by_name = {
        system.name: compare(
            baseline.counts(),
            system.counts(),
            metrics if system.name == ours.name else {MACRO: metrics[MACRO]},
        )
        for system in systems
        if system.name != baseline.name
    }
    verdicts = {name: own[MACRO] for name, own in by_name.items()}
    verdicts |= correct({n: own for n, own in verdicts.items() if not (by_dev and n == ours.name)})
    on_ours = {**by_name[ours.name], MACRO: verdicts[ours.name]}
    # the numbers of models that were not trained long enough are shown, but nothing is claimed
    early = {system.name for system in systems if baseline.rising() or system.rising()}
    verdicts = {n: own.without_claim() if n in early else own for n, own in verdicts.items()}
    if ours.name in early:
        on_ours = {name: own.without_claim() for name, own in on_ours.items()}
    return on_ours, verdicts


def _cells(interval: Interval | None) -> tuple[float | None, Ends | None]:
    """Return a score and its interval. A score without any mention has no interval."""
    if interval is None:
        return None, None
    return interval.value, (interval.low, interval.high) if interval.low < interval.high else None
