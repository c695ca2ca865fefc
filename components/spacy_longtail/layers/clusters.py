"""Brown clusters of words: a table of bit paths, and prefixes of them as features."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly
from spacy.lookups import load_lookups
from spacy.strings import get_string_id
from spacy.tokens import Doc
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Ints1d, Ints2d, Ragged

from ..errors import Errors
from ..settings import extra

NAME = "cluster_prefixes"
LOOKUPS = "lookups"  # stands for the table of spacy-lookups-data
LANGUAGES = ("en", "de", "es")  # of spacy-lookups-data 1.0 with clusters
MOST_BITS = 32
FIX = "Name a file of lines of bits, TAB, word, TAB, count, as wcluster writes, or clusters = null."


class PathTable(NamedTuple):
    """The paths of words. The low bits are the prefix: the first decision is bit 0."""

    keys: Ints1d  # (n_words,) uint64, spaCy's hashes of the words, ascending
    paths: Ints1d  # (n_words,) uint32

    def find(self, hashes: Ints1d) -> Ints1d:
        """Row of each word, -1 where there is none. hashes (Ints1d): (n,) uint64."""
        if not len(self.keys):
            return np.full(len(hashes), -1)
        rows = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        return np.where(self.keys[rows] == hashes, rows, -1)


NO_PATHS = PathTable(np.zeros(0, dtype="uint64"), np.zeros(0, dtype="uint32"))


def _path_table(paths: Mapping[int, int]) -> PathTable:
    """paths (Mapping[int, int]): Hash of a word to its path."""
    keys = np.fromiter(paths, dtype="uint64", count=len(paths))
    values = np.fromiter(paths.values(), dtype="uint32", count=len(paths))
    order = np.argsort(keys)
    return PathTable(keys[order], values[order])


@serialize_attr.register(PathTable)
def _to_bytes(_: PathTable, value: PathTable, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps({"keys": value.keys, "paths": value.paths})


@deserialize_attr.register(PathTable)
def _from_bytes(_: PathTable, value: bytes, name: str, model: Model) -> PathTable:
    return PathTable(**srsly.msgpack_loads(value))


def read_clusters(source: str, lang: str) -> PathTable:
    """The clusters of a language's words.

    source (str): "lookups" for the table of spacy-lookups-data, or a file of paths as Brown clustering
        writes it: one line per word, bits, TAB, word, TAB, count.
    RETURNS (PathTable): At least one word.
    """
    return _from_lookups(lang) if source == LOOKUPS else _path_table(_read_paths(Path(source)))


def lacks_lookups(lang: str) -> str:
    """Why there are no clusters of a language's words; "" if there are."""
    if lang not in LANGUAGES:
        return f"there are none for {lang!r}"
    is_there = find_spec("spacy_lookups_data") is not None
    return "" if is_there else "they need pip install 'spacy-longtail[lookups]'"


@cache  # it takes seconds
def _from_lookups(lang: str) -> PathTable:
    with extra("spacy-lookups-data", "lookups"):
        import spacy_lookups_data  # noqa: F401
    if lang not in LANGUAGES:
        problem = f"spacy-lookups-data has none for the language {lang!r}, only for {LANGUAGES}"
        raise ValueError(Errors.L261.format(path=LOOKUPS, problem=problem, fix=FIX))
    return _path_table(load_lookups(lang, ["lexeme_cluster"]).get_table("lexeme_cluster"))


def _read_paths(path: Path) -> dict[int, int]:
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix=FIX))
    paths: dict[int, int] = {}
    problem = "it is empty"
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(file, start=1):
                bits, _, rest = line.rstrip("\n").partition("\t")
                word = rest.partition("\t")[0]
                if not word or not bits or set(bits) - {"0", "1"}:
                    raise ValueError(f"line {number} is {line.strip()[:60]!r}")
                paths[get_string_id(word)] = int(bits[:MOST_BITS][::-1], 2)
        except ValueError as error:
            problem, paths = str(error), {}
    if not paths:
        raise ValueError(Errors.L261.format(path=path, problem=problem, fix=FIX))
    return paths


def cluster_prefixes(source: str, bits: Sequence[int]) -> Model[list[Doc], Ragged]:
    """Keys of prefixes of each word's path, for hash embeddings: (n_tokens, n_lengths) uint64.

    A word is looked up as it is written, then in lower case. An unknown word has the key 0 at every
    length. The table is read at initialisation and saved with the model; where it was left out of the
    saved model, it is read when it is first needed.

    source (str): As for `read_clusters`. bits (Sequence[int]): Lengths of the prefixes.
    """
    masks = np.array([(1 << n) - 1 for n in bits], dtype="uint64")
    # with its length, so that 00 of four bits is another key than 00 of two
    lengths = np.array(bits, dtype="uint64") + np.uint64(1) << np.uint64(MOST_BITS)
    about = {"source": source, "clusters": NO_PATHS, "lang": None, "masks": masks, "lengths": lengths}
    return Model(NAME, forward, init=init, attrs=about)


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    if X:
        cluster_table(model, X[0].vocab.lang)


def cluster_table(model: Model, lang: str) -> PathTable:
    """The layer's table, of the language it was first read for. lang (str): Of the pipeline."""
    if not len(model.attrs["clusters"].paths):
        # weights that were learnt with one language's table need it in a pipeline of another, too
        lang = model.attrs["lang"] or lang
        model.attrs.update(clusters=read_clusters(model.attrs["source"], lang), lang=lang)
    table: PathTable = model.attrs["clusters"]
    return table


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable]:
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    if not docs:
        nothing = model.ops.asarray(np.zeros((0, len(model.attrs["masks"])), dtype="uint64"))
        return Ragged(nothing, lengths), lambda d_keys: []
    table = cluster_table(model, docs[0].vocab.lang)
    words = np.concatenate([doc.to_array(["ORTH", "LOWER"]) for doc in docs])
    distinct, first, word_of = np.unique(
        words[:, 0].astype("uint64"), return_index=True, return_inverse=True
    )
    lower = table.find(words[first, 1].astype("uint64"))
    as_written = table.find(distinct)
    rows = np.where(as_written < 0, lower, as_written)
    paths = table.paths[rows].astype("uint64")[:, None]
    keys: Ints2d = (paths & model.attrs["masks"]) + model.attrs["lengths"]
    keys[rows < 0] = 0
    return Ragged(model.ops.asarray(keys[word_of.reshape(-1)]), lengths), lambda d_keys: []
