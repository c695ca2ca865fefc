"""Senses that weights have learnt: of a word's hash, the path that a small net is sure of."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Ints1d

from .hash_net import HashNet, check_array, check_net, in_batches, read_net


class LearnedSenses(NamedTuple):
    """A net whose outputs are the scores of paths; the first says none. Its arrays are HashNet's."""

    table: np.ndarray
    scale: np.ndarray
    hidden: np.ndarray
    hidden_bias: np.ndarray
    output: np.ndarray  # (1 + n_paths, n_hidden)
    output_bias: np.ndarray  # (1 + n_paths,)
    paths: Ints1d  # (n_paths,) uint32, as of a PathTable
    least: np.ndarray  # (1,) float32, the probability from which on a path is believed

    @property
    def net(self) -> HashNet:
        return HashNet(*self[: len(HashNet._fields)])

    def find(self, hashes: Ints1d) -> Ints1d:
        """Row in `paths` of each word, -1 where there is none. hashes (Ints1d): (n,) uint64."""
        return in_batches(self._find, hashes)

    def _find(self, hashes: Ints1d) -> Ints1d:
        scores = self.net.outputs(hashes)
        found = scores.argmax(axis=1)
        some = np.flatnonzero(found)
        likely = scores[some]
        p = 1 / np.exp(likely - likely.max(axis=1, keepdims=True)).sum(axis=1)
        found[some[p < self.least]] = 0
        return found - 1


NO_SENSES = LearnedSenses(*(np.zeros(0) for _ in LearnedSenses._fields))


def read_learned(path: str | Path) -> LearnedSenses:
    """Senses that `distil-senses` wrote. RAISES (ValueError): L266, L402."""
    return read_net(path, _senses, "learned senses", "distil-senses")


def _senses(arrays: Mapping[str, np.ndarray]) -> LearnedSenses:
    """RAISES (KeyError, ValueError): For what is missing, or of another net."""
    found = LearnedSenses(**{name: arrays[name] for name in LearnedSenses._fields})
    n_paths = (*found.paths.shape, 0)[0]
    check_array("paths", found.paths, (n_paths,), np.unsignedinteger)
    check_array("least", found.least, (1,), np.floating)
    check_net(found.net, 1 + n_paths)
    return found


@serialize_attr.register(LearnedSenses)
def _to_bytes(_: LearnedSenses, value: LearnedSenses, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value._asdict())


@deserialize_attr.register(LearnedSenses)
def _from_bytes(_: LearnedSenses, value: bytes, name: str, model: Model) -> LearnedSenses:
    return LearnedSenses(**srsly.msgpack_loads(value))
