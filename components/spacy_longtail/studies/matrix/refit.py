"""The final training of a method that was chosen on folds: on train and dev together."""

import json
import shutil
from pathlib import Path

import srsly
from spacy.util import load_config

from ...corpus.folder import load_docs, part_path, read_types, write_corpus
from ...corpus.splitting import PARTS
from ...corpus.tokenizers import blank
from ...output.writing import write_file
from ...training.train import train_model

DATA = "refit"  # folder of the corpus of train and dev
LAST, META = "model-last", "meta.json"


def refit(config: Path, corpus: Path, output: Path, steps: int, gpu_id: int = -1) -> Path:
    """Train on train and dev, for as many steps as were best with another dev part.

    There is nothing left to stop by: the model after the last step is the one to use, and the only one
    that stays. Its scores on dev, which it has learnt, are taken out of its meta.json.

    config (Path): A complete config. corpus (Path): A folder that `convert` wrote.
    output (Path): Folder of the results. steps (int): Of the training. gpu_id (int): -1 is the CPU.
    RETURNS (Path): The model.
    """
    types = read_types(corpus)
    vocab = blank(types.lang, types.tokens)
    places = {part: part_path(corpus, part) for part in PARTS}
    docs = {part: load_docs(path, vocab) for part, path in places.items() if path.exists()}
    both = output / DATA / corpus.resolve().name
    write_corpus(both, {**docs, "train": [*docs["train"], *docs["dev"]]}, types)
    frequency = int(load_config(config, interpolate=True)["training"]["eval_frequency"])
    schedule = {"training.max_steps": steps, "training.patience": 0}
    schedule["training.eval_frequency"] = min(frequency, steps)
    best = train_model(config, both, output / "model", gpu_id=gpu_id, overrides=schedule)
    model = best.parent / LAST
    meta = srsly.read_json(model / META)
    write_file(model / META, json.dumps({**meta, "performance": {}}, indent=2))
    shutil.rmtree(best)
    return model
