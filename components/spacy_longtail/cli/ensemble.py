"""`ensemble`: trained runs combined into one pipeline."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from wasabi import msg

from ..training.startup import use_gpu
from ..unlabelled.ensemble import build_ensemble
from .app import PIPELINE_PANEL, Code, GpuId, Json, app, print_json, print_measured, refuse_given, say


@app.command("ensemble", rich_help_panel=PIPELINE_PANEL)
def ensemble_command(
    context: typer.Context,
    runs: Annotated[list[Path], Argument(help="Folders of `train`, pipelines or packages.")],
    output: Annotated[Path, Option("--output", "-o", help="Folder for the pipeline.")],
    gold: Annotated[Path | None, Option(help="A converted corpus to measure them all on.")] = None,
    part: Annotated[str, Option(help="The part of it.")] = "dev",
    weights: Annotated[
        bool, Option("--weights", help="Average weights, of runs that start from one encoder.")
    ] = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Combine the token NERs of several runs by the mean of their tag probabilities.

    With --weights, make one network of them, as small and as fast as one run. What is written is an
    ordinary pipeline, with tokenizer and other components of the first run.
    """
    if gold is None:
        refuse_given(context, ["part"], "it is of --gold")
    use_gpu(gpu_id)
    ensemble = build_ensemble(runs, output, gold, part, weights, say)
    if as_json:
        return print_json(ensemble.model_dump())
    if ensemble.systems:
        print_measured(ensemble.systems, part)
    return msg.good(f"Wrote {output}")
