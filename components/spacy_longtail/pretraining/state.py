"""How far a training is, in a file of its state on disk."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import Errors
from .records import Progress

PROGRESS = "progress.json"


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
