"""A training's state on disk: weights, moments of the optimizer, scores so far. No pickle."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from spacy.language import Language
from thinc.api import Model, Optimizer, Shim, get_current_ops, to_numpy

from ...errors import Errors
from ...output.writing import coded_io, whole_folder
from .records import Progress

WEIGHTS, MOMENTS, PROGRESS = "model", "optimizer.npz", "progress.json"
KINDS = ("mom1", "mom2", "averages")


def _parts(nlp: Language) -> dict[str, Model | Shim]:
    """Layers and shims by a name on disk: their place in the pipeline."""
    return {
        f"{name}|{i}|{k}": part
        for name, pipe in nlp.pipeline
        for i, node in enumerate(pipe.model.walk() if hasattr(pipe, "model") else ())
        for k, part in enumerate((node, *node.shims))
    }


def _keys(nlp: Language) -> Callable[[int, str], str | None]:
    """The name on disk for what the optimizer knows a parameter by: a number and the parameter's name.

    Shims are counted apart from layers, so that one can have the number of the other.
    """
    layers, shims = {}, {}
    for place, part in _parts(nlp).items():
        if isinstance(part, Shim):
            shims[part.id] = place
        else:
            layers.update({(part.id, param): place for param in part.param_names})

    def name(part: int, param: str) -> str | None:
        place = layers.get((part, param), shims.get(part))
        return None if place is None else f"{place}|{param}"

    return name


def save_state(folder: Path, nlp: Language, optimizer: Optimizer, progress: Progress) -> None:
    """Write the state. The one before stays until the new one is whole.

    folder (Path): The folder. nlp (Language): The pipeline, with its weights as they are trained.
    optimizer (Optimizer): thinc's. progress (Progress): How far it is.
    RAISES (ValueError): L432.
    """
    name_of = _keys(nlp)
    arrays = {
        f"{kind}|{name}": to_numpy(values)
        for kind in KINDS
        for key, values in (getattr(optimizer, kind) or {}).items()
        if (name := name_of(*key)) is not None
    }
    updates = {name: n for key, n in optimizer.nr_update.items() if (name := name_of(*key)) is not None}
    with coded_io(folder), whole_folder(folder) as new:
        nlp.to_disk(new / WEIGHTS)
        np.savez(new / MOMENTS, **arrays)
        state = progress.model_copy(update={"updates": updates})
        write_progress(new, state)


def load_state(folder: Path, nlp: Language, optimizer: Optimizer) -> Progress | None:
    """Take up what `save_state` wrote.

    folder (Path): The folder, existing or new. nlp (Language): The same pipeline, initialized.
    optimizer (Optimizer): The same, new.
    RETURNS (Optional[Progress]): How far it was; null if there is no state.
    RAISES (ValueError): L496 where it is damaged.
    """
    if not (folder / PROGRESS).is_file():
        return None
    with damaged(folder):
        progress = read_progress(folder)
        for name, pipe in nlp.pipeline:
            pipe.from_disk(folder / WEIGHTS / name, exclude=["vocab"])  # type: ignore[attr-defined]
        nlp.vocab.strings.from_disk(folder / WEIGHTS / "vocab" / "strings.json")
        ops = get_current_ops()
        parts = _parts(nlp)
        with np.load(folder / MOMENTS, allow_pickle=False) as arrays:
            for name in arrays.files:
                kind, _, rest = name.partition("|")
                place, _, param = rest.rpartition("|")
                getattr(optimizer, kind)[parts[place].id, param] = ops.asarray(arrays[name])
        for name, n in progress.updates.items():
            place, _, param = name.rpartition("|")
            optimizer.nr_update[parts[place].id, param] = n
    return progress


def write_progress(folder: Path, progress: Progress) -> None:
    """Say how far a training is."""
    (folder / PROGRESS).write_text(json.dumps(progress.model_dump()), encoding="utf8")


def read_progress(folder: Path) -> Progress:
    """What `write_progress` wrote."""
    return Progress.model_validate_json((folder / PROGRESS).read_bytes())


@contextmanager
def damaged(folder: Path) -> Iterator[None]:
    """Where a state is read. RAISES (ValueError): L496."""
    try:
        yield
    except Exception as error:  # of JSON, msgpack, zip and torch: each its own kind
        problem = f"{type(error).__name__}: {error}"
        raise ValueError(Errors.L496.format(path=folder, problem=problem)) from error
