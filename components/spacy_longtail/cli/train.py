"""Command `train`: trains a config on a converted corpus."""

from pathlib import Path
from typing import Annotated

from spacy.cli._util import parse_config_overrides
from typer import Argument, Context, Option
from wasabi import msg

from ..training.train import Matmul, train_model
from .app import TRAINING_PANEL, Code, Corpus, GpuId, WithEarlierNames, app
from .options import Set, read_settings


@app.command(
    cls=WithEarlierNames,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    rich_help_panel=TRAINING_PANEL,
)
def train(
    context: Context,
    config: Annotated[Path, Argument(help="Config file, such as configs/config.cfg.")],
    corpus: Corpus,
    output: Annotated[
        Path, Argument(help="Folder for the trained pipelines. An earlier training is replaced.")
    ],
    code: Code = None,
    gpu_id: GpuId = -1,
    matmul: Annotated[
        Matmul, Option(help="Library for matrix multiplication. numpy is faster on new AMD CPUs.")
    ] = "spacy",
    settings: Set = None,
) -> None:
    """Train a config on a converted corpus.

    Override settings with --set, or as in `spacy train`: --training.max_steps 500.
    """
    overrides = {**read_settings(settings), **parse_config_overrides(list(context.args))}
    best = train_model(config, corpus, output, gpu_id=gpu_id, matmul=matmul, overrides=overrides)
    msg.good(f"Saved to {output}. The best checkpoint is {best}")
