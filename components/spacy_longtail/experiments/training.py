"""One training on a converted corpus: `spacy train` with the corpus's paths and types filled in."""

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import spacy
from spacy.cli._util import setup_gpu
from spacy.cli.train import train
from spacy.util import load_config, logger

from ..corpora import load_docs, part_path, read_types
from ..errors import Errors
from ..tokenizers import tokenizer_config


def corpus_overrides(corpus: Path) -> dict[str, Any]:
    """What a config needs to know of a converted corpus; [longtail] only where the config has it."""
    types = read_types(corpus)
    return {
        "nlp.lang": types.lang,
        **{f"nlp.{name}": value for name, value in tokenizer_config(types.lang, types.tokens).items()},
        "paths.train": str(part_path(corpus, "train")),
        "paths.dev": str(part_path(corpus, "dev")),
        "longtail.labels": types.labels,
        "longtail.tail": types.tail,
    }


def filled_in(config: Path, corpus: Path, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The overrides that make a config one for this corpus, and those given, which win.

    config (Path): A config of this project. corpus (Path): A folder that `convert` wrote.
    overrides (Optional[Mapping[str, Any]]): Config values by dotted name.
    """
    known = load_config(config, interpolate=False)
    own = {k: v for k, v in corpus_overrides(corpus).items() if k.split(".")[0] in known}
    return {**own, **(overrides or {})}


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
    RAISES (ValueError): L402, L403, L404 for a config or corpus that cannot be read, before anything is
        deleted; L402 if no model was written.
    """
    if not config.is_file():
        raise ValueError(Errors.L402.format(path=config, fix="Name a config file."))
    settings = filled_in(config, corpus, overrides)
    load_config(config, overrides=settings, interpolate=False)  # refuses overrides of what is not there
    for part in ("train", "dev"):  # refuses what cannot be read, before anything is deleted
        load_docs(Path(settings.get(f"paths.{part}", corpus / f"{part}.spacy")), spacy.blank("xx"))
    logger.setLevel(logging.INFO)  # the gate reports its class weights
    setup_gpu(gpu_id)
    if output.exists():
        shutil.rmtree(output)
    train(config, output, use_gpu=gpu_id, overrides=settings)
    best = output / "model-best"
    if not (best / "config.cfg").is_file():
        raise ValueError(Errors.L402.format(path=best, fix="Training wrote no model; see the log."))
    return best
