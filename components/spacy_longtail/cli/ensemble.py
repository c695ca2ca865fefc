"""Command `ensemble`: combines several trained pipelines into one."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option
from wasabi import msg

from ..evaluation.ensemble import build_ensemble
from .app import PIPELINE_PANEL, Code, Gpu, Json, app, print_json, print_measured, refuse_given, say


@app.command("ensemble", rich_help_panel=PIPELINE_PANEL)
def ensemble_command(
    context: Context,
    runs: Annotated[
        list[Path],
        Argument(help="Trained pipelines: folders that `train` wrote, pipelines or packages."),
    ],
    output: Annotated[Path, Option("--output", "-o", help="Folder for the new pipeline.")],
    gold: Annotated[
        Path | None, Option(help="Converted corpus on which to measure the pipelines and the ensemble.")
    ] = None,
    part: Annotated[str, Option(help="Part of the gold corpus: train, dev or test.")] = "dev",
    weights: Annotated[
        bool,
        Option("--weights", help="Average the weights. All runs must start from the same encoder."),
    ] = False,
    code: Code = None,
    gpu_id: Gpu = -1,
    as_json: Json = False,
) -> None:
    """Combine the token NERs of several trained pipelines by averaging their tag probabilities.

    With --weights their weights are averaged instead, so that the ensemble is as small and as fast
    as one of them. The result is an ordinary pipeline. Its tokenizer and other components are those
    of the first run.
    """
    if gold is None:
        refuse_given(context, ["part"], "it needs --gold")
    ensemble = build_ensemble(runs, output, gold, part, weights, say)
    if as_json:
        return print_json(ensemble.model_dump())
    if ensemble.systems:
        print_measured(ensemble.systems, part)
    return msg.good(f"Wrote {output}")
