"""The pages on a plan's trials: an index, and one page per corpus; a table for a terminal."""

from pathlib import Path

from wasabi import Printer

from ...evaluation.convergence import no_verdict
from ...evaluation.report import write_report
from ...evaluation.report.plots import heatmap, size_curves
from ...evaluation.report.rendering import cell, render
from ...evaluation.report.wording import counted
from ...output.tables import text_table
from ...output.writing import coded_io, replacing
from .curves import Curves, Point
from .summary import CorpusSummary, Summary

INDEX = "index"


def write_matrix_report(summary: Summary, folder: Path) -> Path:
    """Write index.html, index.md, and a page for each corpus that all trials were trained on in full.

    summary (Summary): What the trials show. folder (Path): Where.
    RETURNS (Path): index.html.
    """
    for found in summary.corpora:
        if found.report is not None:
            write_report(found.report, folder / f"{found.corpus}.html")
    values: dict[str, object] = {"summary": summary, "columns": summary.columns, "tables": curve_table}
    values |= {"rising": not_trained, "on_test": on_test}
    plots = {
        (c.corpus, curves.average): _plot(c, curves, summary.baseline)
        for c in summary.corpora
        for curves in c.curves
    }
    heats = {
        c.corpus: heatmap(c.heat, f"heat{i}")
        for i, c in enumerate(summary.corpora)
        if c.heat is not None
    }
    texts = {
        f"{INDEX}.html": render("matrix.html", plots=plots, heats=heats, **values),
        f"{INDEX}.md": render("matrix.md", **values),
    }
    with coded_io(folder), replacing(folder) as new:
        for name, text in texts.items():
            (new / name).write_bytes(text.encode("utf-8", "replace"))
    return folder / f"{INDEX}.html"


def on_test(found: CorpusSummary) -> str:
    """What the method that is best on dev finds on test, in plain words; "" where there is no report."""
    report = found.report
    if report is None or report.comparison.early:
        return ""
    return counted(report.comparison)


def _plot(found: CorpusSummary, curves: Curves, baseline: str) -> str:
    lines = {
        name: [(point.x, list(point.scores.values())) for point in points]
        for name, points in curves.lines.items()
    }
    key, roles = f"{found.corpus}-{curves.average}", {baseline: "baseline"}
    return size_curves(lines, key, curves.x_name, f"{curves.average} F1 on test", roles)


def curve_table(curves: Curves) -> tuple[list[float], list[tuple[str, list[Point | None]]]]:
    """The sizes, and each method's point at each of them; null where no trial is finished."""
    sizes = sorted({point.x for points in curves.lines.values() for point in points})
    rows = []
    for name, points in curves.lines.items():
        at = {point.x: point for point in points}
        rows.append((name, [at.get(size) for size in sizes]))
    return sizes, rows


def not_trained(found: CorpusSummary) -> str:
    """Which methods were not trained long enough, in a sentence; "" if all were, or it is said above."""
    if found.recommendation is not None and found.recommendation.is_early:
        return ""
    return no_verdict({row.method: row.rising for row in found.rows})


def summary_tables(summary: Summary) -> str:
    """Tables and recommendations for a terminal.

    summary (Summary): What the trials show.
    RETURNS (str): Several lines.
    """
    parts = []
    for found in summary.corpora:
        parts.append(Printer(no_print=True).divider(found.corpus) or "")
        if found.curves:
            for curves in found.curves:
                parts += [_curve_text(curves), *(f"- {text}" for text in curves.findings)]
            continue
        rows = [
            (
                row.method,
                str(row.n_seeds),
                *(cell(row.scores[c]) for c in summary.columns),
                f"{row.steps:,.0f}",
                f"{row.seconds:.0f}",
            )
            for row in found.rows
        ]
        head = ("Method", "Seeds", *summary.columns, "Steps", "Seconds")
        parts.append(text_table(head, rows))
        if early := not_trained(found):
            parts.append(early)
        if found.recommendation is not None:
            parts += [found.recommendation.text, *(f"- {t}" for t in found.recommendation.evidence)]
    return "\n".join(parts) + "\n"


def _curve_text(curves: Curves) -> str:
    sizes, rows = curve_table(curves)
    cells = [
        (name, *("–" if point is None else cell((point.mean, point.spread)) for point in points))
        for name, points in rows
    ]
    head = (f"{curves.average} F1, {curves.x_name}", *(f"{size:g}" for size in sizes))
    return text_table(head, cells)
