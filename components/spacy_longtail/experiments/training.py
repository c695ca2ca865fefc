"""One training on a converted corpus: `spacy train` with the corpus's paths and types filled in."""

import shutil
from pathlib import Path
from typing import Any

from spacy.cli._util import setup_gpu
from spacy.cli.train import train

from ..corpora import read_types
from ..errors import Errors


def corpus_overrides(corpus: Path) -> dict[str, Any]:
    """What a config of this project needs to know of a converted corpus."""
    types = read_types(corpus)
    return {
        "paths.train": str(corpus / "train.spacy"),
        "paths.dev": str(corpus / "dev.spacy"),
        "longtail.labels": types.labels,
        "longtail.tail": types.tail,
    }


def train_model(
    config: Path,
    corpus: Path,
    output: Path,
    *,
    gpu_id: int = -1,
    overrides: dict[str, Any] | None = None,
) -> Path:
    """Train a config on a corpus into an empty folder.

    config (Path): A config of this project. corpus (Path): A folder that `convert` wrote.
    output (Path): The folder for model-best and model-last; whatever it holds is deleted.
    gpu_id (int): -1 is the CPU.
    overrides (Optional[Dict[str, Any]]): Config values by dotted name.
    RETURNS (Path): model-best.
    RAISES (ValueError): L402 for a missing config or corpus, or if no model was written.
    """
    if not config.is_file():
        raise ValueError(Errors.L402.format(path=config, fix="Name a config file."))
    settings = {**corpus_overrides(corpus), **(overrides or {})}
    if output.exists():
        shutil.rmtree(output)
    setup_gpu(gpu_id)
    train(config, output, use_gpu=gpu_id, overrides=settings)
    best = output / "model-best"
    if not (best / "config.cfg").is_file():
        raise ValueError(Errors.L402.format(path=best, fix="Training wrote no model; see the log."))
    return best
