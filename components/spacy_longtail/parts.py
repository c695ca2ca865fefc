"""The parts of a converted corpus on disk, a file or a folder of files each, written all or nothing."""

import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.tokens import Doc

from .errors import Errors
from .formats.docbin import Tally, write_docs

NEW = ".longtail-"  # how the folder begins that holds what is being written


def part_path(corpus: Path, part: str) -> Path:
    """Where a part of a converted corpus is: PART.spacy, or a folder PART of .spacy files."""
    folder = corpus / part
    return folder if folder.is_dir() else corpus / f"{part}.spacy"


def write_part(folder: Path, part: str, docs: Iterable[Doc], docs_per_file: int | None = None) -> Tally:
    """Write one part.

    folder (Path): The folder of the corpus.
    part (str): The part's name.
    docs (Iterable[Doc]): Streamed, one file's worth in memory.
    docs_per_file (Optional[int]): Write PART/00000.spacy and so on; null writes PART.spacy.
    RETURNS (Tally): What was written.
    RAISES (ValueError): L435.
    """
    if docs_per_file is None:
        return write_docs(folder / f"{part}.spacy", docs)
    (folder / part).mkdir()
    docs, total = iter(docs), Tally()
    for i in itertools.count():
        first = next(docs, None)
        if first is None:
            return total
        rest = itertools.islice(docs, docs_per_file - 1)
        total += write_docs(folder / part / f"{i:05}.spacy", itertools.chain([first], rest))
    return total


@contextmanager
def coded_io(path: Path) -> Iterator[None]:
    """What the system refuses becomes a coded error. RAISES (ValueError): L432."""
    try:
        yield
    except OSError as error:
        message = Errors.L432.format(path=error.filename or path, problem=error.strerror or error)
        raise ValueError(message) from error


@contextmanager
def replacing(target: Path, parts: Iterable[str]) -> Iterator[Path]:
    """A new folder whose entries replace those of the target when the block ends without an error.

    target (Path): The folder to change, or to make. Its other entries are kept.
    parts (Iterable[str]): Parts that will be written: neither their file nor their folder is left over.
    YIELDS (Path): The new folder.
    RAISES (ValueError): L432, L433, L434.
    """
    stale = [path for part in parts for path in (target / part, target / f"{part}.spacy")]
    for path in stale:
        if path.is_dir() and any(p.suffix != ".spacy" for p in path.rglob("*") if p.is_file()):
            raise ValueError(Errors.L433.format(path=path))
    if target.exists() and not target.is_dir():
        raise ValueError(Errors.L434.format(path=target))
    # within a target that exists: it may be a disk of its own, or stand where nothing can be written
    near = next(path for path in (target, *target.absolute().parents) if path.is_dir())
    with coded_io(target), tempfile.TemporaryDirectory(prefix=NEW, dir=near) as folder:
        new, old = Path(folder) / "new", Path(folder) / "old"
        new.mkdir()
        old.mkdir()
        yield new
        target.mkdir(parents=True, exist_ok=True)
        _move(new, target, stale, old)


def _move(new: Path, target: Path, stale: list[Path], old: Path) -> None:
    done: list[tuple[Path, Path]] = []

    def move(here: Path, there: Path) -> None:
        os.replace(here, there)
        done.append((here, there))

    try:
        entries = sorted(new.iterdir())
        for path in {*stale, *(target / entry.name for entry in entries)}:
            if path.exists():
                move(path, old / path.name)
        for entry in entries:
            move(entry, target / entry.name)
    except BaseException:
        for here, there in reversed(done):
            os.replace(there, here)
        raise
