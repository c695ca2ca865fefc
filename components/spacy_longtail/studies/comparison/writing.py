"""Writer of a plan's results: an index, a page for each corpus, and tables for the terminal."""

from pathlib import Path

from wasabi import Printer

from ...corpus.statistics import write_statistics
from ...evaluation.convergence import no_verdict
from ...evaluation.report import write_report
from ...evaluation.report.page import cell, render, write_pages
from ...evaluation.report.systems import STATISTICS_FILE
from ...evaluation.report.wording import counted
from ...output.console import text_table
from .summary import CorpusSummary, Summary


def write_matrix_report(summary: Summary, folder: Path) -> Path:
    """Write index.html, index.md, and a page and the statistics of each corpus with a report.

    summary (Summary): Results of the trials.
    folder (Path): Folder for the pages.
    RETURNS (Path): index.html.
    """
    for corpus in summary.corpora:
        if corpus.report is not None:
            write_report(corpus.report, folder / f"{corpus.corpus}.html")
            write_statistics(corpus.report.statistics, folder / corpus.corpus / STATISTICS_FILE)
    values = {
        "summary": summary,
        "rising": not_trained,
        "counted": counted,
    }
    index = folder / "index.html"
    write_pages(index, render("matrix.html", **values), render("matrix.md", **values))
    return index


def not_trained(corpus: CorpusSummary) -> str:
    """Return in words which methods were not trained long enough.

    corpus (CorpusSummary): Results of the trials on a corpus.
    RETURNS (str): Sentences, or "" if there are none or the recommendation says so already.
    """
    if corpus.recommendation is not None and corpus.recommendation.is_early:
        return ""
    return no_verdict({row.method: row.rising for row in corpus.rows})


def summary_tables(summary: Summary) -> str:
    """Return tables and recommendations for the terminal.

    summary (Summary): Results of the trials.
    RETURNS (str): Lines of text.
    """
    parts = []
    for corpus in summary.corpora:
        parts.append(Printer(no_print=True).divider(corpus.corpus) or "")
        for curves in corpus.curves:
            head = (f"{curves.average} F1, {curves.x_name}", *(f"{size:g}" for size in curves.sizes))
            rows = [(name, *map(cell, line)) for name, line in curves.lines.items()]
            parts += [text_table(head, rows), *(f"- {text}" for text in curves.findings)]
        if corpus.curves:
            continue
        trained = "Trials" if summary.on_folds else "Seeds"
        head = ("Method", trained, *summary.columns, "Steps", "Seconds")
        rows = [
            (
                row.method,
                str(row.n_trials if summary.on_folds else row.n_seeds),
                *(cell(row.scores[column]) for column in summary.columns),
                f"{row.steps:,.0f}",
                f"{row.seconds:.0f}",
            )
            for row in corpus.rows
        ]
        parts.append(text_table(head, rows))
        if early := not_trained(corpus):
            parts.append(early)
        if corpus.recommendation is not None:
            parts += [corpus.recommendation.text, *(f"- {t}" for t in corpus.recommendation.evidence)]
    return "\n".join(parts) + "\n"
