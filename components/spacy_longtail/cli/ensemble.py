"""`ensemble`: trained runs behind one pipe, or as one network."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..evaluation.report.wording import percent
from ..training.device import use_gpu
from ..unlabelled.ensemble import Ensemble, Request, build_ensemble
from .app import PIPELINE_PANEL, Code, GpuId, Json, app, print_json, print_table


@app.command("ensemble", rich_help_panel=PIPELINE_PANEL)
def ensemble_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of `train`, or pipelines: two or more.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pipeline.")],
    gold: Annotated[
        Path | None, typer.Option(help="A converted corpus, to measure members and ensemble on.")
    ] = None,
    part: Annotated[str, typer.Option(help="The part of it.")] = "dev",
    weights: Annotated[
        bool,
        typer.Option(
            "--weights", help="Average weights, of runs that began with one pretrained encoder."
        ),
    ] = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Put the token NERs of several runs behind one pipe, by the mean of their tag probabilities.

    With --weights, make one network of them, as small and as fast as one run. What is written is an
    ordinary pipeline, with tokenizer and other components of the first run.
    """
    use_gpu(gpu_id)
    found = build_ensemble(Request(tuple(runs), gold, part, weights), output, _say)
    if as_json:
        print_json(found.model_dump())
        return
    _print(found)
    msg.good(f"Wrote {output}")


def _print(found: Ensemble) -> None:
    if not found.systems:
        rows = [(own.name, own.model, f"{own.megabytes:.1f}") for own in found.pipelines]
        print_table(("", "pipeline", "MB on disk"), rows, "llr")
        return
    rows = [
        (
            own.name,
            own.model,
            *map(percent, (own.macro, own.tail, own.micro)),
            f"{own.words_per_second:,.0f}",
            f"{own.speed_ratio:.2f}",
            f"{own.megabytes:.1f}",
        )
        for own in found.systems
    ]
    scores = (f"macro F1 on {found.part}", "tail F1", "micro F1")
    print_table(("", "pipeline", *scores, "words/s", "times m1", "MB on disk"), rows, "ll" + "r" * 6)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
