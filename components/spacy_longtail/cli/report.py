"""`report`: the HTML page, and the model card."""

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
    write_card,
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
    card: Annotated[
        Path | None,
        typer.Option(help="Also write a model card into this pipeline, one of those evaluated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page on all runs of a corpus, and print its result table.

    One model is described, two are compared, of many the best on dev is compared with the baseline.
    Runs of one name and several seeds are one model.
    """
    check_report(output)
    statistics, evaluations = metrics_files(metrics)
    found = read_report(statistics, evaluations, baseline, ours)
    written = {"Report": output, "Markdown": write_report(found, output)}
    if card is not None:
        written["Model card"] = write_card(statistics, evaluations, card)
    if as_json:
        print_json(summarize(found))
        return
    sys.stdout.write(summary_table(found))
    for name, path in written.items():  # unwrapped, so that they can be copied
        sys.stdout.write(f"{name}: {path.resolve()}\n")
