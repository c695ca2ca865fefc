"""`report`: the HTML page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from .app import app, coded_errors


@app.command()
def report(
    metrics: Annotated[Path, typer.Argument(help="Folder with stats.json and the evaluations.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
    baseline: Annotated[str, typer.Option(help="Name of the model to compare with.")] = "baseline",
    ours: Annotated[str | None, typer.Option(help="Name of ours; the best on dev if left out.")] = None,
) -> None:
    """Write one self-contained HTML page, and print its result table."""
    from ..experiments.report import summary_table, write_report
    from ..experiments.report_inputs import metrics_files

    with coded_errors():
        statistics, evaluations = metrics_files(metrics)
        summary = write_report(statistics, evaluations, output, baseline, ours)
    sys.stdout.write(summary_table(summary) + "\n")
    sys.stdout.write(f"Report: {output.resolve()}\n")  # unwrapped, so that it can be copied
