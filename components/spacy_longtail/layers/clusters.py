"""Brown clusters of words: a table of bit paths, and prefixes of them as features."""

from collections.abc import Callable, Sequence
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
TABLE = "lexeme_cluster"  # there
MOST_BITS = 32
LANGUAGES = ("en", "de", "es")  # of spacy-lookups-data 1.0 with clusters


class ClusterTable(NamedTuple):
    """The paths of words. The low bits are the prefix: the first decision is bit 0."""

    keys: Ints1d  # (n_words,) uint64, spaCy's hashes of the words, ascending
    paths: Ints1d  # (n_words,) uint32

    def find(self, hashes: Ints1d) -> Ints1d:
        """Row of each word, -1 where there is none. hashes (Ints1d): (n,) uint64."""
        at = np.searchsorted(self.keys, hashes)
        at[at == len(self.keys)] = 0
        return np.where(self.keys[at] == hashes, at, -1) if len(self.keys) else np.full(len(hashes), -1)


NO_CLUSTERS = ClusterTable(np.zeros(0, dtype="uint64"), np.zeros(0, dtype="uint32"))


def read_clusters(source: str, lang: str) -> ClusterTable:
    """The clusters of a language's words.

    source (str): "lookups" for the table of spacy-lookups-data, or a file of paths as Brown clustering
        writes it: one line per word, bits, TAB, word, TAB, count.
    RETURNS (ClusterTable): At least one word.
    RAISES (ValueError): L402, L406, L260, L261.
    """
    return _from_lookups(lang) if source == LOOKUPS else _table(_read_paths(Path(source)))


def has_lookups(lang: str) -> bool:
    """Whether spacy-lookups-data is installed, and has the clusters of a language's words."""
    return lang in LANGUAGES and find_spec("spacy_lookups_data") is not None


def _table(paths: dict[int, int]) -> ClusterTable:
    keys = np.fromiter(paths, dtype="uint64", count=len(paths))
    values = np.fromiter(paths.values(), dtype="uint32", count=len(paths))
    order = np.argsort(keys)
    return ClusterTable(keys[order], values[order])


@cache  # it takes seconds
def _from_lookups(lang: str) -> ClusterTable:
    with extra("spacy-lookups-data", "lookups"):
        import spacy_lookups_data  # noqa: F401
    if lang not in LANGUAGES:
        raise ValueError(Errors.L260.format(lang=lang, known=", ".join(LANGUAGES)))
    return _table(load_lookups(lang, [TABLE]).get_table(TABLE))


def _read_paths(path: Path) -> dict[int, int]:
    if not path.is_file():
        fix = "Name a file of Brown clusters, or 'lookups' for those of spacy-lookups-data."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    found: dict[int, int] = {}
    with path.open(encoding="utf8") as file:
        try:
            for number, line in enumerate(file, start=1):
                bits, _, rest = line.rstrip("\n").partition("\t")
                word = rest.partition("\t")[0]
                if not word or not bits or set(bits) - {"0", "1"}:
                    raise ValueError(Errors.L261.format(path=path, line=number, found=line.strip()[:60]))
                found[get_string_id(word)] = int(bits[:MOST_BITS][::-1], 2)
        except UnicodeDecodeError as error:
            problem = Errors.L423.format(path=path, line="?", encoding="utf8", problem=error)
            raise ValueError(problem) from error
    if not found:
        raise ValueError(Errors.L261.format(path=path, line=1, found="nothing"))
    return found


def cluster_prefixes(source: str, bits: Sequence[int], lower: bool = False) -> Model[list[Doc], Ragged]:
    """Keys of prefixes of each word's path, for hash embeddings: (n_tokens, n_lengths) uint64.

    A word is looked up as it is written, then in lower case; one that is unknown has the key 0 at every
    length. The table is read at initialisation and saved with the model; where it was left out of the
    saved model, it is read when it is first needed.

    source (str): As for `read_clusters`. bits (Sequence[int]): Lengths of the prefixes.
    lower (bool): Whether as many keys of the lower-case form follow.
    """
    masks = np.array([(1 << n) - 1 for n in bits], dtype="uint64")
    # with its length, so that 00 of four bits is another key than 00 of two
    lengths = np.array(bits, dtype="uint64") + np.uint64(1) << np.uint64(MOST_BITS)
    about = {"source": source, "clusters": NO_CLUSTERS}
    attrs = {**about, "masks": masks, "lengths": lengths, "lower": lower}
    return Model(NAME, forward, init=init, attrs=attrs)


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    if X:
        table_of(model, X[0].vocab.lang)


def table_of(model: Model, lang: str) -> ClusterTable:
    """The layer's table. RAISES (ValueError): L402, L406, L260, L261."""
    if not len(model.attrs["clusters"].keys):
        model.attrs["clusters"] = read_clusters(model.attrs["source"], lang)
    found: ClusterTable = model.attrs["clusters"]
    return found


def leave_out_tables(model: Model) -> None:
    """Take the tables out of a model that is to be saved small, where they can be read again."""
    for node in model.walk():
        if node.name == NAME and node.attrs["source"] == LOOKUPS:
            node.attrs["clusters"] = NO_CLUSTERS


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable]:
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    if not docs:
        n_keys = len(model.attrs["masks"]) * (1 + model.attrs["lower"])
        nothing = model.ops.asarray(np.zeros((0, n_keys), dtype="uint64"))
        return Ragged(nothing, lengths), lambda d_keys: []
    table = table_of(model, docs[0].vocab.lang)
    words = np.concatenate([doc.to_array(["ORTH", "LOWER"]) for doc in docs])
    distinct, first, word_of = np.unique(
        words[:, 0].astype("uint64"), return_index=True, return_inverse=True
    )
    rows, lower = table.find(distinct), table.find(words[first, 1].astype("uint64"))
    keys = _keys(model, table, np.where(rows < 0, lower, rows))
    if model.attrs["lower"]:
        keys = np.hstack([keys, _keys(model, table, lower)])
    return Ragged(model.ops.asarray(keys[word_of.reshape(-1)]), lengths), lambda d_keys: []


def _keys(model: Model, table: ClusterTable, rows: Ints1d) -> Ints2d:
    """Of each prefix of the paths in some rows; 0 for the row -1."""
    paths = table.paths[rows].astype("uint64")[:, None]
    keys: Ints2d = (paths & model.attrs["masks"]) + model.attrs["lengths"]
    keys[rows < 0] = 0
    return keys


@serialize_attr.register(ClusterTable)
def _to_bytes(_: ClusterTable, value: ClusterTable, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps({"keys": value.keys, "paths": value.paths})


@deserialize_attr.register(ClusterTable)
def _from_bytes(_: ClusterTable, value: bytes, name: str, model: Model) -> ClusterTable:
    return ClusterTable(**srsly.msgpack_loads(value))
