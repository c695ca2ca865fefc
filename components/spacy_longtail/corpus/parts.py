"""Parts of a converted corpus on disk: a file or a folder of files each, all or nothing."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spacy.tokens import Doc

from ..errors import Errors
from ..output.writing import replacing
from .formats.docbin import Tally, write_docs

CHUNK = 1 << 20  # number of bytes of a file that are read at a time


def part_path(corpus: Path, part: str) -> Path:
    """Return the path of a part: PART.spacy, or a folder PART of .spacy files."""
    if part in ("", ".", "..") or set(part) & set("/\\\0"):
        raise ValueError(Errors.L548.format(part=part))
    folder = corpus / part
    return folder if folder.is_dir() else corpus / f"{part}.spacy"


def write_part(folder: Path, part: str, docs: Iterable[Doc], docs_per_file: int | None = None) -> Tally:
    """Write one part.

    docs (Iterable[Doc]): Streamed, one file's worth in memory.
    docs_per_file (Optional[int]): Write PART/00000.spacy and so on; null writes PART.spacy.
    """
    if docs_per_file is None:
        return write_docs(folder / f"{part}.spacy", docs)
    (folder / part).mkdir()
    docs, tallies = iter(docs), list[Tally]()
    for first in docs:
        more = itertools.chain([first], itertools.islice(docs, docs_per_file - 1))
        tallies.append(write_docs(folder / part / f"{len(tallies):05}.spacy", more))
    mentions = sum((tally.mentions for tally in tallies), Counter[str]())
    return Tally(sum(t.documents for t in tallies), sum(t.tokens for t in tallies), mentions)


@contextmanager
def replacing_parts(target: Path, parts: Iterable[str], files: Iterable[str] = ()) -> Iterator[Path]:
    """Replace parts of a corpus atomically, removing leftover files of earlier parts.

    target (Path): The folder of the corpus.
    parts (Iterable[str]): The parts that will be written.
    files (Iterable[str]): Names of other files that are removed, if no new ones replace them.
    """
    stale = [path for part in parts for path in (target / part, target / f"{part}.spacy")]
    for path in stale:
        if path.is_dir() and any(p.suffix != ".spacy" for p in path.rglob("*") if p.is_file()):
            raise ValueError(Errors.L437.format(path=path, problem="it holds more than .spacy files"))
    with replacing(target, [*stale, *(target / name for name in files)]) as folder:
        yield folder


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or of the .spacy files of a folder in order, as hexadecimal."""
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*.spacy")) if path.is_dir() else [path]:
        with part.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def checksums(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the checksums of those files and folders that exist, by name."""
    return {name: checksum(path) for name, path in paths.items() if path.exists()}
