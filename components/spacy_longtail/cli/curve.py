"""`curve` and `imbalance`: methods by the size of the training data, by its share of entity tokens."""

from pathlib import Path
from typing import Annotated

import typer

from ..studies.trials.plan import presets
from ..studies.trials.run import Options
from .app import METHOD_PANEL, Corpus, GpuId, Json, app
from .matrix import run_plan
from .trial_options import (
    DryRun,
    KeepModels,
    Minutes,
    Output,
    Retry,
    Set,
    Steps,
    Storage,
    Workers,
    read_numbers,
)

METHODS = "paper-auc"
Methods = Annotated[
    str, typer.Option("--plan", help=f"Methods: a YAML file, or a preset of {', '.join(presets())}.")
]
Partitions = Annotated[int, typer.Option(min=1, help="Seeded draws of each; six or more can be tested.")]


@app.command(rich_help_panel=METHOD_PANEL)
def curve(
    corpus: Corpus,
    output: Output = Path("training/curve"),
    plan: Methods = METHODS,
    sizes: Annotated[str, typer.Option(help="Training sentences.")] = "20,50,100,200,500,1000",
    partitions: Partitions = 5,
    steps: Steps = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Learning curves: methods on the first N of shuffled training sentences, dev and test whole.

    Draws of one partition nest, and all methods get the same ones. Finished trials are skipped.
    """
    found = read_numbers("--sizes", sizes, int)
    given = {"sizes": found, "partitions": partitions, "steps": steps, "corpora": [str(corpus)]}
    options = Options(workers, gpu_id, storage, minutes, keep_models, retry_failed)
    run_plan(plan, given, settings, output, options, dry_run, as_json)


@app.command(rich_help_panel=METHOD_PANEL)
def imbalance(
    corpus: Corpus,
    output: Output = Path("training/imbalance"),
    plan: Methods = METHODS,
    shares: Annotated[
        str, typer.Option(help="Percent of the training tokens that are in entities.")
    ] = "1,2,5,10,20",
    sentences: Annotated[int, typer.Option(min=1, help="Training sentences of each draw.")] = 100,
    partitions: Partitions = 5,
    steps: Steps = None,
    settings: Set = None,
    workers: Workers = 1,
    minutes: Minutes = None,
    storage: Storage = None,
    keep_models: KeepModels = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Methods on training data in which entities have a given share of the tokens, dev and test whole.

    All draws have the same number of sentences. Finished trials are skipped.
    """
    found = [percent / 100 for percent in read_numbers("--shares", shares, float)]
    given = {"shares": found, "n_sentences": sentences, "partitions": partitions, "steps": steps}
    options = Options(workers, gpu_id, storage, minutes, keep_models, retry_failed)
    run_plan(plan, {**given, "corpora": [str(corpus)]}, settings, output, options, dry_run, as_json)
