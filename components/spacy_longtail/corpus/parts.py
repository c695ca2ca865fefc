"""Parts of a converted corpus on disk: a .spacy file or a folder of them each, all or nothing."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeVar

import srsly
from spacy.language import BaseDefaults
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab, create_vocab

from ..errors import Errors
from ..output.writing import replacing
from .counts import entity_bounds
from .cutting import sentence_docs
from .descriptions import TYPES
from .labels import check_label

CHUNK = 1 << 20  # number of bytes of a file that are read at a time
Read = TypeVar("Read")


class Tally(NamedTuple):
    """Counts of a written part."""

    documents: int
    tokens: int
    mentions: Counter[str]


def write_docs(path: Path, docs: Iterable[Doc]) -> Tally:
    """Write documents to a .spacy file. They are streamed, but their arrays stay in memory."""
    store, mentions, n_tokens = DocBin(), Counter[str](), 0
    for doc in docs:
        store.add(doc)
        # not by store_user_data=True: to pack empty dictionaries takes longer than all the rest
        store.user_data.append(srsly.msgpack_dumps(doc.user_data) if doc.user_data else None)
        mentions.update(doc.vocab.strings[label] for *_, label in entity_bounds(doc))
        n_tokens += len(doc)
    store.store_user_data = True
    for label in mentions:
        check_label(label, f" in {path.name}")
    try:
        store.to_disk(path)
    except ValueError as error:  # of spaCy, where msgpack cannot hold it
        raise ValueError(
            Errors.L404.format(
                path=path.name, problem=error, fix="Write several files of it: --docs-per-file 10000."
            )
        ) from error
    return Tally(len(store), n_tokens, mentions)


def _streamed(path: Path, read: Callable[[DocBin], Iterator[Read]]) -> Iterator[Read]:
    """Call `read` on a .spacy file, or on each file below a folder, and yield the results."""
    paths = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
    if not path.exists() or not paths:
        raise ValueError(Errors.L402.format(path=path, fix="Name a .spacy file, or a folder of them."))
    is_empty = True
    for part in paths:
        try:
            for item in read(DocBin().from_disk(part)):
                is_empty = False
                yield item
        except Exception as error:  # msgpack, zlib and spaCy raise their own kinds
            raise damaged(part, error) from error
    if is_empty:
        raise ValueError(Errors.L403.format(path=path, fix="Convert a corpus that has documents."))


def damaged(path: Path, problem: object) -> ValueError:
    """Return the error (L404) for a .spacy file that cannot be read."""
    fix = "Write it again with `python -m spacy_longtail convert`."
    return ValueError(Errors.L404.format(path=path, problem=problem, fix=fix))


def check_docs(path: Path) -> int:
    """Return the number of tokens of a .spacy file or folder, refusing damaged files."""
    return sum(len(tokens) for tokens in _streamed(path, lambda docs: iter(docs.tokens)))


def number_with(path: Path, key: str) -> int:
    """Count the documents of a .spacy file or folder whose user_data has a key.

    Only user_data is read, which is faster than to make the documents.
    """

    def has_key(data: bytes | None) -> bool:
        return data is not None and key in srsly.msgpack_loads(data, use_list=False)

    return sum(_streamed(path, lambda docs: map(has_key, docs.user_data)))


def bare_vocab() -> Vocab:
    """Return a vocabulary without a pipeline, whose creation would import every installed extra."""
    return create_vocab("xx", BaseDefaults)


def stream_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the documents of a .spacy file, or of every .spacy file below a folder, by name."""
    return _streamed(path, lambda docs: docs.get_docs(vocab))


def stream_sentences(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the sentences of a .spacy file as documents."""
    for doc in stream_docs(path, vocab):
        yield from sentence_docs(doc)


def part_path(corpus: Path, part: str) -> Path:
    """Return the path of a part: PART.spacy, or a folder PART of .spacy files."""
    if part in ("", ".", "..") or set(part) & set("/\\\0"):
        raise ValueError(Errors.L548.format(part=part))
    folder = corpus / part
    return folder if folder.is_dir() else corpus / f"{part}.spacy"


def all_parts(corpus: Path) -> list[Path]:
    """Return the paths of all parts of a corpus, whatever their names are.

    Folders that are corpora of their own are left out.
    """
    paths = sorted(path for path in corpus.glob("*") if not path.name.startswith("."))
    folders = [p for p in paths if p.is_dir() and not (p / TYPES).exists() and any(p.rglob("*.spacy"))]
    return [*folders, *(p for p in paths if p.is_file() and p.suffix == ".spacy")]


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


def replacing_parts(
    target: Path, parts: Iterable[str], files: Iterable[str] = ()
) -> AbstractContextManager[Path]:
    """Replace parts of a corpus atomically, removing leftover files of earlier parts.

    target (Path): The folder of the corpus.
    parts (Iterable[str]): The parts that will be written.
    files (Iterable[str]): Names of other files that are removed, if no new ones replace them.
    """
    stale = [path for part in parts for path in (target / part, target / f"{part}.spacy")]
    for path in stale:
        if path.is_dir() and any(p.suffix != ".spacy" for p in path.rglob("*") if p.is_file()):
            raise ValueError(Errors.L437.format(path=path, problem="it holds more than .spacy files"))
    return replacing(target, [*stale, *(target / name for name in files)])


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
