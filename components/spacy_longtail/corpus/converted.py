"""A converted corpus as one object: its types, its parts, where it comes from, and its counts."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..about import __version__
from ..output.writing import write_file
from ..records import Record
from .descriptions import TYPES, CorpusTypes, read_types
from .folder import PARTS
from .parts import checksum, checksums, part_path, stream_docs
from .statistics import Statistics
from .statistics.counting import described_corpus, tally_part

STATISTICS, TRAINING = ".statistics.json", ".training.json"  # caches in the folder of a corpus

Counted = TypeVar("Counted", bound=Record)


class TrainingCounts(Record):
    """Counts of the training part that the analysis of predictions needs.

    mentions (Dict[str, int]): Number of mentions of each type.
    surfaces (Set[Tuple[str, str]]): Case-folded text and type of each mention.
    """

    mentions: dict[str, int]
    surfaces: set[tuple[str, str]]


class Cache(Record):
    """Counts of a corpus with the hash of what was counted."""

    hash: str
    counts: str  # JSON


class ConvertedCorpus:
    """Converted corpus: a folder with types.json and a file or folder for each part.

    Everything is read when it is first asked for, and once. Counts are cached in the folder with a
    hash of what was counted, so that counts of earlier content are never used.

    folder (Path): A folder that `convert` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def types(self) -> CorpusTypes:
        """Return types, rare types, descriptions, language, tokens and the key of groups.

        RAISES (ValueError): L402 without types.json, L419 for free-text types, L430 if it is wrong.
        """
        return read_types(self.folder)

    @cached_property
    def parts(self) -> dict[str, Path]:
        """Return the paths of train, dev and test that exist.

        A corpus that was not split has all of it as train. Otherwise train is named even if it does
        not exist.
        """
        paths = {part: self.path(part) for part in PARTS}
        whole = self.path("all")
        if not paths["train"].exists() and whole.exists():
            return {"train": whole}
        return {part: path for part, path in paths.items() if part == "train" or path.exists()}

    def path(self, part: str) -> Path:
        """Return the path of a part, which may not exist.

        part (str): Name of the part.
        """
        return part_path(self.folder, part)

    def docs(self, part: str, vocab: Vocab) -> Iterator[Doc]:
        """Yield the documents of a part.

        part (str): Its name. A corpus that was not split has all of it as "train".
        vocab (Vocab): Vocabulary of the documents.
        """
        return stream_docs(self.parts.get(part) or self.path(part), vocab)

    @cached_property
    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of the documents of each part that exists, as hexadecimal."""
        return checksums({part: self.path(part) for part in ("all", *PARTS)})

    @cached_property
    def statistics(self) -> Statistics:
        """Return the counts of all parts, and what they mean for training; cached in the folder."""

        def count() -> Statistics:
            tallies = {part: tally_part(path) for part, path in self.parts.items()}
            return described_corpus(self.folder, self.types, tallies)

        return self._cached(STATISTICS, Statistics, self._hash_of(*self.checksums), count)

    @cached_property
    def training(self) -> TrainingCounts:
        """Return the counts of the training part; cached in the folder."""

        def count() -> TrainingCounts:
            tally = tally_part(self.path("train"))
            return TrainingCounts(mentions=dict(tally.counts.mentions), surfaces=set(tally.surfaces))

        return self._cached(TRAINING, TrainingCounts, self._hash_of("train"), count)

    def _hash_of(self, *parts: str) -> str:
        """Return the hash of the types and of the documents of some parts."""
        types = self.folder / TYPES
        declared = checksum(types) if types.is_file() else ""
        content = [__version__, self.folder.name, declared, *map(self.checksums.get, parts)]
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def _cached(
        self, name: str, kind: type[Counted], hash: str, count: Callable[[], Counted]
    ) -> Counted:
        """Return counts from a cache of the same content, or count and cache them.

        name (str): Name of the cache.
        kind (type): Record of the counts.
        hash (str): Hash of what is counted.
        count (Callable): Counts it.
        """
        path = self.folder / name
        with suppress(OSError, ValueError):  # no cache, or one of an interrupted or other program
            cache = Cache.model_validate_json(path.read_bytes())
            if cache.hash == hash:
                return kind.model_validate_json(cache.counts)
        counts = count()
        cache = Cache(hash=hash, counts=counts.model_dump_json(exclude_unset=True))
        with suppress(ValueError):  # a folder that cannot be written to
            write_file(path, cache.model_dump_json())
        return counts
