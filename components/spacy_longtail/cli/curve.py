"""`curve`: methods by the size of the training data."""

from pathlib import Path
from typing import Annotated

import typer

from ..studies.trials.plan import presets
from ..studies.trials.run import Options
from .app import METHOD_PANEL, Code, Corpus, GpuId, Json, app
from .matrix import run_plan
from .trial_options import (
    DryRun,
    KeepModels,
    Minutes,
    Output,
    Retry,
    Set,
    Steps,
    Workers,
    read_numbers,
)


@app.command(rich_help_panel=METHOD_PANEL)
def curve(
    corpus: Corpus,
    output: Output = Path("training/curve"),
    plan: Annotated[
        str, typer.Option(help=f"Methods: a YAML file, or a preset of {', '.join(presets())}.")
    ] = "paper-auc",
    sizes: Annotated[str, typer.Option(help="Training sentences.")] = "20,50,100,200,500,1000",
    partitions: Annotated[
        int, typer.Option(min=1, help="Seeded draws of each; six or more can be tested.")
    ] = 5,
    steps: Steps = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Learning curves: methods on the first N of shuffled training sentences, dev and test whole.

    Draws of one partition nest, and all methods get the same ones. Finished trials are skipped.
    """
    given = {"sizes": read_numbers("--sizes", sizes, int), "partitions": partitions, "steps": steps}
    options = Options(workers, gpu_id, minutes, keep_models, retry_failed)
    run_plan(plan, {**given, "corpora": [str(corpus)]}, settings, output, options, dry_run, as_json)
