"""A table of words and their paths in a tree: of Brown clusters."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import srsly
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Ints1d

MOST_BITS = 32


class PathTable(NamedTuple):
    """The paths of words. The low bits are the prefix: the first decision is bit 0."""

    keys: Ints1d  # (n_words,) uint64, spaCy's hashes of the words, ascending
    paths: Ints1d  # (n_words,) uint32

    def find(self, hashes: Ints1d) -> Ints1d:
        """Row of each word, -1 where there is none. hashes (Ints1d): (n,) uint64."""
        at = np.searchsorted(self.keys, hashes)
        at[at == len(self.keys)] = 0
        return np.where(self.keys[at] == hashes, at, -1) if len(self.keys) else np.full(len(hashes), -1)


NO_PATHS = PathTable(np.zeros(0, dtype="uint64"), np.zeros(0, dtype="uint32"))


def path_table(paths: Mapping[int, int]) -> PathTable:
    """paths (Mapping[int, int]): Hash of a word to its path. RETURNS (PathTable): In order of hashes."""
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
