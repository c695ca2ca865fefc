"""A training's state on disk: weights, moments of the optimizer, scores so far. No pickle."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from thinc.api import Optimizer, get_current_ops, to_numpy

from ...errors import Errors
from ...writing import whole_folder

WEIGHTS, MOMENTS, PROGRESS = "model", "optimizer.npz", "progress.json"
KINDS = ("mom1", "mom2", "averages")


def _keys(nlp: Language) -> dict[Any, str]:
    """A name on disk for whatever the optimizer knows a layer by: its place in the pipeline."""
    found: dict[Any, str] = {}
    for name, pipe in nlp.pipeline:
        for i, node in enumerate(pipe.model.walk()) if hasattr(pipe, "model") else ():
            for k, part in enumerate((node, *node.shims)):
                found.setdefault(part.id, f"{name}|{i}|{k}")
    return found


def save_state(folder: Path, nlp: Language, optimizer: Optimizer, progress: dict[str, Any]) -> None:
    """Write the state. The one before stays until the new one is whole.

    folder (Path): The folder. nlp (Language): The pipeline, with its weights as they are trained.
    optimizer (Optimizer): thinc's. progress (Dict[str, Any]): JSON data.
    RAISES (ValueError): L432.
    """
    names = _keys(nlp)
    arrays = {
        f"{kind}|{names[part]}|{param}": to_numpy(values)
        for kind in KINDS
        for (part, param), values in (getattr(optimizer, kind) or {}).items()
        if part in names
    }
    updates = {f"{names[k[0]]}|{k[1]}": n for k, n in optimizer.nr_update.items() if k[0] in names}
    with whole_folder(folder) as new:
        nlp.to_disk(new / WEIGHTS)
        np.savez(new / MOMENTS, **arrays)  # type: ignore[arg-type]
        text = json.dumps({**progress, "updates": updates})
        (new / PROGRESS).write_text(text, encoding="utf8")


def load_state(folder: Path, nlp: Language, optimizer: Optimizer) -> dict[str, Any] | None:
    """Take up what `save_state` wrote.

    folder (Path): The folder, there or not. nlp (Language): The same pipeline, initialized.
    optimizer (Optimizer): The same, new.
    RETURNS (Optional[Dict[str, Any]]): The progress; null if there is no state.
    RAISES (ValueError): L496 where it is damaged.
    """
    if not (folder / PROGRESS).is_file():
        return None
    try:
        progress: dict[str, Any] = json.loads((folder / PROGRESS).read_text(encoding="utf8"))
        for name, pipe in nlp.pipeline:
            pipe.from_disk(folder / WEIGHTS / name, exclude=["vocab"])  # type: ignore[attr-defined]
        nlp.vocab.strings.from_disk(folder / WEIGHTS / "vocab" / "strings.json")
        ops = get_current_ops()
        parts = {name: part for part, name in _keys(nlp).items()}
        with np.load(folder / MOMENTS, allow_pickle=False) as arrays:
            for name in arrays.files:
                kind, _, rest = name.partition("|")
                place, _, param = rest.rpartition("|")
                getattr(optimizer, kind)[parts[place], param] = ops.asarray(arrays[name])
        for name, n in progress.pop("updates").items():
            place, _, param = name.rpartition("|")
            optimizer.nr_update[parts[place], param] = n
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ValueError(Errors.L496.format(path=folder, problem=problem)) from error
    return progress
