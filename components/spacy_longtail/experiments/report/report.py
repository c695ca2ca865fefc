"""A report: read, weighed, and written."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import wasabi

from ..significance import PowerNote, Verdict, named_metrics, power_note
from .comparison import (
    HEADLINES,
    Average,
    Comparison,
    TypeRow,
    compare,
    hold_against,
    percent,
    signed,
    verdict,
)
from .inputs import read_runs, read_statistics
from .systems import Choice, System, choose, common_seeds, group, spread


class Report(NamedTuple):
    """All that a report says, before it is written down."""

    statistics: dict[str, Any]  # of the corpus
    systems: list[System]
    choice: Choice
    comparison: Comparison
    verdicts: dict[str, dict[str, Verdict]]  # of all systems but the baseline, after Holm
    power: PowerNote | None  # what so few seeds could show; null without a baseline


def read_systems(statistics: Path, evaluations: list[Path]) -> tuple[dict[str, Any], list[System]]:
    """A corpus's statistics, and the runs on it by method. RAISES (ValueError): L405, L411, L412."""
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
    RAISES (ValueError): L405, L406, L410, L411, L412, L413.
    """
    stats, systems = read_systems(statistics, evaluations)
    choice = choose(systems, baseline, ours)
    comparison = compare(choice, stats)
    verdicts: dict[str, dict[str, Verdict]] = {}
    power = None
    if choice.baseline is not None:
        metrics = named_metrics(stats["labels"], stats["tail"])
        averages = {f"{k} F1": metrics[f"{k} F1"] for k in HEADLINES if f"{k} F1" in metrics}
        others = [system for system in systems if system is not choice.baseline]
        verdicts = hold_against(choice.baseline, others, averages)
        power = _power(choice.baseline, choice.ours)
    return Report(stats, systems, choice, comparison, verdicts, power)


def _power(baseline: System, ours: System) -> PowerNote:
    """What the seeds that both were trained with could show in macro F1."""
    seeds = common_seeds(baseline, ours)
    if seeds is None:
        return power_note(1, None)
    scores = [
        System(s.name, [run for run in s.runs if run.seed in seeds]).scores("macro")
        for s in (baseline, ours)
    ]
    return power_note(len(seeds), spread([b - a for a, b in zip(*scores, strict=True)]))


def write_report(report: Report, target: Path) -> Path:
    """Write the page, and its Markdown twin beside it.

    report (Report): What there is to say.
    target (Path): The HTML file; nothing is left behind if writing fails.
    RETURNS (Path): The Markdown file.
    RAISES (ValueError): L405, L406.
    """
    from .page import render_html, render_markdown

    twin = target.with_suffix(".md")
    texts = {target: render_html(report), twin: render_markdown(report)}
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = {path: path.with_name(f".{path.name}.{os.getpid()}") for path in texts}
    try:
        for path, text in texts.items():
            # a lone surrogate is legal in JSON and has no UTF-8
            unfinished[path].write_bytes(text.encode("utf-8", "replace"))
        for path, new in unfinished.items():
            new.replace(path)
    finally:
        for new in unfinished.values():
            new.unlink(missing_ok=True)
    return twin


def summarize(report: Report) -> dict[str, Any]:
    """What the result table shows, for machines.

    report (Report): What there is to say.
    RETURNS (Dict[str, Any]): JSON data, scores in [0, 1]: corpus, baseline, ours, seeds, verdict,
        findings, rows (type,
        support, rare, baseline, ours, interval, p, outcome), averages (macro, micro, weighted, tail).
    """
    comparison = report.comparison
    headline, findings = verdict(comparison)
    rows = [
        {"type": row.label, "support": row.support, "rare": row.rare, **_shown(row.f, row)}
        for row in comparison.rows
    ]
    return {
        "corpus": report.statistics["corpus"],
        "baseline": comparison.baseline,
        "ours": comparison.ours,
        "seeds": {system.name: system.seeds for system in report.systems},
        "verdict": headline,
        "findings": findings,
        "rows": rows,
        "averages": {kind: _shown(a.scores, a) for kind, a in comparison.averages.items()},
    }


def _shown(scores: Any, found: TypeRow | Average) -> dict[str, Any]:
    interval, own = found.interval, found.verdict
    return {
        **scores._asdict(),
        "interval": None if interval is None else [interval.low, interval.high],
        "p": None if own is None else own.p,
        "test": None if own is None else own.test,
        "outcome": None if own is None else own.outcome,
    }


def summary_table(summary: Mapping[str, Any]) -> str:
    """The result table for a terminal.

    summary (Mapping[str, Any]): What `summarize` returned.
    RETURNS (str): One line per type, then one per average, then the verdict.
    """
    rows = []
    for row in summary["rows"]:
        name = f"{row['type']} *" if row["rare"] else row["type"]
        rows.append((name, row["support"], *_cells(summary, row)))
    for name, scores in summary["averages"].items():
        rows.append((name, "", *_cells(summary, scores)))
    header = ["Type (* rare)", "Support", summary["ours"], "95 % interval"]
    if summary["baseline"] is not None:
        header[2:2] = [summary["baseline"]]
        header += ["Difference", "p"]
    aligns = ("l", *("r" for _ in header[1:]))
    table = wasabi.table(rows, header=header, divider=True, aligns=aligns)
    return "\n".join([table, summary["verdict"], *(f"- {text}" for text in summary["findings"]), ""])


def _cells(summary: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    interval = "–"
    if row["interval"] is not None:
        interval = " to ".join(percent(end) for end in row["interval"])
    cells = [percent(row["ours"]), interval]
    if summary["baseline"] is not None:
        pair = (row["baseline"], row["ours"])
        points = None if None in pair else 100 * (pair[1] - pair[0])
        p = "–" if row["p"] is None else "<0.001" if row["p"] < 0.001 else f"{row['p']:.3f}"
        cells = [percent(row["baseline"]), *cells, signed(points), p]
    return cells
