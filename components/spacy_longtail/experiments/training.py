"""One training on a converted corpus: `spacy train` with the corpus's paths and types filled in."""

import logging
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacy.cli._util import setup_gpu
from spacy.cli.train import train
from spacy.util import is_package, load_config, logger
from thinc.api import Config

from ..corpora import CorpusTypes, part_path, read_types
from ..errors import Errors
from ..formats.docbin import check_docs
from ..tokenizers import tokenizer_config
from .provenance import CURVE_FILE, write_run

CONSOLE = "spacy.ConsoleLogger."


def corpus_overrides(types: CorpusTypes, train: Path, dev: Path) -> dict[str, Any]:
    """What a config needs to know of a corpus.

    types (CorpusTypes): Its types, language and tokens.
    train (Path): The part to train on. dev (Path): The part that chooses the best model.
    """
    return {
        "nlp.lang": types.lang,
        **{f"nlp.{name}": value for name, value in tokenizer_config(types.lang, types.tokens).items()},
        "paths.train": str(train),
        "paths.dev": str(dev),
        "longtail.labels": types.labels,
        "longtail.tail": types.tail,
        "longtail.frequent": [label for label in types.labels if label not in types.tail],
    }


def filled_in(config: Path, corpus: Path, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The overrides that make a config one for this corpus, and those given, which win.

    config (Path): A config of this project. corpus (Path): A folder that `convert` wrote.
    overrides (Optional[Mapping[str, Any]]): Config values by dotted name.
    """
    paths = (part_path(corpus, part) for part in ("train", "dev"))
    own = corpus_overrides(read_types(corpus), *paths)
    return {**known_sections(own, load_config(config, interpolate=False)), **(overrides or {})}


def load_filled(config: Path, corpus: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """A config as it is trained on a corpus, interpolated.

    config (Path): A config of this project. corpus (Path): A folder that `convert` wrote.
    overrides (Optional[Mapping[str, Any]]): Config values by dotted name.
    RAISES (ValueError): L430, and spaCy's own for a config that is none.
    """
    return load_config(config, overrides=filled_in(config, corpus, overrides), interpolate=True)


def known_sections(overrides: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """The overrides of sections that a config has; of [longtail] those of the names that it has."""

    def is_known(name: str) -> bool:
        section, key = name.split(".", 1)
        return section in config and (section != "longtail" or key in config[section])

    return {name: value for name, value in overrides.items() if is_known(name)}


def train_model(
    config: Path,
    corpus: Path,
    output: Path,
    *,
    gpu_id: int = -1,
    overrides: dict[str, Any] | None = None,
) -> Path:
    """Train a config on a corpus into an empty folder. How, and the scores on the way, are kept there.

    config (Path): A config of this project. corpus (Path): A folder that `convert` wrote.
    output (Path): The folder for model-best and model-last; whatever it holds is deleted.
    gpu_id (int): -1 is the CPU.
    overrides (Optional[Dict[str, Any]]): Config values by dotted name.
    RETURNS (Path): model-best.
    RAISES (ValueError): L402, L403, L404, L409 for a config, corpus, vectors or weights that cannot be
        read or used, before anything is deleted; L402 if no model was written.
    """
    if not config.is_file():
        raise ValueError(Errors.L402.format(path=config, fix="Name a config file."))
    settings = filled_in(config, corpus, overrides)
    # refuses overrides of what is not there
    filled = load_config(config, overrides=settings, interpolate=True)
    _check_pretrained(filled)
    parts = {n: Path(settings.get(f"paths.{n}", part_path(corpus, n))) for n in ("train", "dev")}
    for path in parts.values():  # refuses what cannot be read, before anything is deleted
        check_docs(path)
    logger.setLevel(logging.INFO)  # the gate reports its class weights
    setup_gpu(gpu_id)
    if output.exists():
        shutil.rmtree(output)
    start = time.perf_counter()
    train(config, output, use_gpu=gpu_id, overrides={**settings, **_logged(filled, output)})
    seconds = time.perf_counter() - start
    for model in ("model-best", "model-last"):
        _restore_logger(output / model / "config.cfg", filled)
    write_run(output, config, corpus, parts, overrides or {}, seconds, gpu_id)
    best = output / "model-best"
    if not (best / "config.cfg").is_file():
        raise ValueError(Errors.L402.format(path=best, fix="Training wrote no model; see the log."))
    return best


def _logged(config: Config, output: Path) -> dict[str, Any]:
    """The overrides that make spaCy's console logger write to a file too; another logger stays."""
    logger_block = config["training"].get("logger", {"@loggers": f"{CONSOLE}v1"})
    if not logger_block["@loggers"].startswith(CONSOLE) or logger_block.get("output_file"):
        return {}
    bar = logger_block.get("progress_bar")
    return {
        "training.logger.@loggers": f"{CONSOLE}v3",
        "training.logger.progress_bar": "eval" if bar is True else bar or None,
        "training.logger.output_file": str(output / CURVE_FILE),
    }


def _restore_logger(path: Path, trained: Config) -> None:
    """Undo `_logged` in a saved pipeline: whoever trains it again would write into the same file."""
    if path.is_file() and "logger" in trained["training"]:
        config = load_config(path, interpolate=False)
        config["training"]["logger"] = trained["training"]["logger"]
        config.to_disk(path)


def _check_pretrained(config: Config) -> None:
    """Whether what [initialize] starts from is there, and is used. RAISES (ValueError): L402, L409."""
    given = {name: config.get("initialize", {}).get(name) for name in ("vectors", "init_tok2vec")}
    fixes = {
        "vectors": "Write it with `spacy init vectors`.",
        "init_tok2vec": "Name spacy pretrain's output.",
    }
    for name, path in given.items():
        if path is not None and not (Path(path).exists() or is_package(str(path))):
            raise ValueError(Errors.L402.format(path=path, fix=fixes[name]))
    if given["init_tok2vec"] is not None and not config.get("pretraining"):
        raise ValueError(Errors.L409.format(path=given["init_tok2vec"]))
