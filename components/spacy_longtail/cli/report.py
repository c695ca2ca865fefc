"""`report`: the HTML page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..evaluation.report import (
    check_report,
    metrics_files,
    read_report,
    summarize,
    summary_table,
    write_report,
)
from .app import TRAINING_PANEL, Json, app, print_json


@app.command(rich_help_panel=TRAINING_PANEL)
def report(
    metrics: Annotated[Path, typer.Argument(help="Folder with stats.json and the evaluations.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The HTML file; its Markdown twin goes beside it.")
    ] = Path("report.html"),
    baseline: Annotated[
        str | None, typer.Option(help="Name of the model to compare with; `baseline` if left out.")
    ] = None,
    ours: Annotated[str | None, typer.Option(help="Name of ours; the best on dev if left out.")] = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page on all runs of a corpus, and print its result table.

    One model is described, two are compared, of many the best on dev is compared with the baseline.
    Runs of one name and several seeds are one model.
    """
    check_report(output)
    statistics, evaluations = metrics_files(metrics)
    found = read_report(statistics, evaluations, baseline, ours)
    twin = write_report(found, output)
    summary = summarize(found)
    if as_json:
        print_json(summary.as_json())
        return
    sys.stdout.write(summary_table(summary))
    # unwrapped, so that they can be copied
    sys.stdout.write(f"Report: {output.resolve()}\nMarkdown: {twin.resolve()}\n")
