"""A report: what was read, and weighed."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...corpus.statistics import Statistics
from ...output.tables import text_table
from ...records import Record
from ..significance import NO_CLAIM, Verdict, corrected, corrected_by_score
from .comparison import HEADLINES, Average, Comparison, Pair, TypeRow, compare, f1_metrics, hold_against
from .dates import written
from .inputs import read_runs, read_statistics
from .plain import Finding, finding, in_one_sentence
from .systems import Choice, System, choose, group
from .wording import p_value, percent, signed, verdict


class Report(NamedTuple):
    """All that a report says, before it is written down."""

    statistics: Statistics  # of the corpus
    systems: list[System]
    choice: Choice
    comparison: Comparison
    # of all systems but the baseline, after Holm but for one chosen on dev
    verdicts: dict[str, dict[str, Verdict]]
    finding: Finding  # how many mentions of the rare types are found
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
    baseline (Optional[str]): Name of the method to compare with; null takes the one called "baseline".
    ours (Optional[str]): Name of the one to compare; null takes the best macro F1 on dev.
    RETURNS (Report): What there is to say.
    """
    stats, systems = read_systems(statistics, evaluations)
    choice = choose(systems, baseline, ours)
    counted, date = finding(stats, choice), written(evaluations)
    if choice.baseline is None:
        return Report(stats, systems, choice, compare(choice, stats), {}, counted, date)
    metrics = f1_metrics(stats)
    averages = {name: metrics[name] for kind in HEADLINES if (name := f"{kind} F1") in metrics}
    ours_alone = hold_against(choice.baseline, choice.ours, metrics)
    alone = {
        system.name: hold_against(choice.baseline, system, averages)
        for system in systems
        if system.name not in (choice.baseline.name, choice.ours.name)
    }
    alone[choice.ours.name] = {name: ours_alone[name] for name in averages}
    ours_alone |= corrected({name: ours_alone[name] for name in _tested_types(choice.ours, stats)})
    verdicts = corrected_by_score(alone)
    if choice.by_dev:  # one comparison, chosen without a look at test: nothing to correct for
        verdicts[choice.ours.name] = alone[choice.ours.name]
    is_early = choice.baseline.rising() is not None
    for system in systems:
        if system.name in verdicts and (is_early or system.rising()):
            verdicts[system.name] = _unclaimed(verdicts[system.name])
    if is_early or choice.ours.rising():
        ours_alone = _unclaimed(ours_alone)
    comparison = compare(choice, stats, {**ours_alone, **verdicts[choice.ours.name]})
    return Report(stats, systems, choice, comparison, verdicts, counted, date)


def _tested_types(system: System, stats: Statistics) -> list[str]:
    """The scores of types that the test part holds: of one that it lacks F1 is 0, whatever is done."""
    gold = system.runs[0].counts.counts[..., 2].sum(axis=0)
    return [f"F1 of {label}" for label, n in zip(stats.labels, gold, strict=False) if n]


def _unclaimed(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Verdicts on models that were not trained long enough: the numbers stay, nothing is claimed."""
    return {name: verdict._replace(outcome=NO_CLAIM) for name, verdict in verdicts.items()}


class Named(Record):
    type: str
    support: int  # gold mentions in the test part
    rare: bool


class Shown(Record):
    """A score of the baseline and of ours, in [0, 1], and what may be said of the difference."""

    baseline: float | None
    ours: float | None
    interval: tuple[float, float] | None  # of ours
    p: float | None  # after Holm: of a type over the types, of an average over the models
    test: str | None
    outcome: str | None


class ShownType(Shown, Named):
    """A line of the result table."""


class Summary(Record):
    """What the result table shows, for machines."""

    corpus: str
    baseline: str | None
    ours: str
    seeds: dict[str, list[int | None]]  # by name of the method
    sentence: str  # the verdict in plain words
    verdict: str
    findings: list[str]
    rows: list[ShownType]  # the types with the most mentions first
    averages: dict[str, Shown]  # macro, micro, weighted, tail


def summarize(report: Report) -> Summary:
    """What the result table shows, for machines.

    report (Report): What there is to say.
    """
    comparison = report.comparison
    headline, findings = verdict(comparison)
    rows = [
        ShownType(type=row.label, support=row.support, rare=row.rare, **_shown(row.f, row).as_json())
        for row in comparison.rows
    ]
    return Summary(
        corpus=report.statistics.corpus,
        baseline=comparison.baseline,
        ours=comparison.ours,
        seeds={system.name: system.seeds for system in report.systems},
        sentence=in_one_sentence(report.finding, comparison),
        verdict=headline,
        findings=findings,
        rows=rows,
        averages={kind: _shown(own.scores, own) for kind, own in comparison.averages.items()},
    )


def _shown(scores: Pair, found: TypeRow | Average) -> Shown:
    interval, own = found.interval, found.verdict
    return Shown(
        baseline=scores.baseline,
        ours=scores.ours,
        interval=None if interval is None else (interval.low, interval.high),
        p=None if own is None else own.adjusted,
        test=None if own is None else own.test,
        outcome=None if own is None else own.outcome,
    )


def summary_table(summary: Summary) -> str:
    """The result table for a terminal.

    summary (Summary): What `summarize` returned.
    RETURNS (str): One line per type, then one per average, then the verdict, in plain words first.
    """
    rows = []
    for row in summary.rows:
        rows.append((f"{row.type} *" if row.rare else row.type, row.support, *_cells(summary, row)))
    for name, scores in summary.averages.items():
        rows.append((name, "", *_cells(summary, scores)))
    header = ["Type (* rare)", "Support", summary.ours, "95 % interval"]
    if summary.baseline is not None:
        header[2:2] = [summary.baseline]
        header += ["Difference", "p (Holm)"]
    table = text_table(header, rows)
    said = list(dict.fromkeys((summary.sentence, summary.verdict)))  # one where nothing can be said yet
    return "\n".join([table, *said, *(f"- {text}" for text in summary.findings), ""])


def _cells(summary: Summary, row: Shown) -> list[str]:
    interval = "–" if row.interval is None else " to ".join(percent(end) for end in row.interval)
    cells = [percent(row.ours), interval]
    if summary.baseline is not None:
        difference = Pair(row.baseline, row.ours).difference
        p = "–" if row.p is None else p_value(row.p)
        points = None if difference is None else 100 * difference
        cells = [percent(row.baseline), *cells, signed(points), p]
    return cells
