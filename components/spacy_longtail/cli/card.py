"""`card`: the model card."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..evaluation.report import metrics_files, write_card
from .app import TRAINING_PANEL, Json, app, print_json


@app.command(rich_help_panel=TRAINING_PANEL)
def card(
    metrics: Annotated[Path, typer.Argument(help="Folder with stats.json and the evaluations.")],
    model: Annotated[Path, typer.Argument(help="The pipeline, one of those evaluated.")],
    as_json: Json = False,
) -> None:
    """Write a model card into a trained pipeline, as README.md and in meta.json.

    `spacy package` includes both: data, mentions of each type, scores with intervals, thresholds,
    method, seeds and limits.
    """
    path = write_card(*metrics_files(metrics), model)
    if as_json:
        return print_json({"card": str(path)})
    sys.stdout.write(f"Model card: {path.resolve()}\n")
    return None
