"""Vectors of words that weights have learnt: of a word's hash, what an encoder makes of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import srsly
from spacy.strings import get_string_id
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d

from .hash_net import HashNet, check_net, in_batches, read_net


class LearnedVectors(NamedTuple):
    """A net whose outputs are a word's vector, near to zeros for words that it does not know."""

    net: HashNet

    @property
    def n_columns(self) -> int:
        return len(self.net.output_bias)

    def of_words(self, words: list[str]) -> Floats2d:
        """(n_words, n_columns) float32. words (List[str]): Looked up in lower case."""
        hashes = np.array([get_string_id(word.lower()) for word in words], dtype="uint64")
        found: Floats2d = in_batches(self.net.outputs, hashes)
        return found


NO_LEARNED = LearnedVectors(HashNet(*(np.zeros(0) for _ in HashNet._fields)))


def read_vectors(path: Path) -> LearnedVectors:
    """Vectors that `distil-vectors` wrote into a file. RAISES (ValueError): L266, L402."""
    return read_net(path, _vectors, "learned vectors", "distil-vectors")


def _vectors(arrays: Mapping[str, np.ndarray]) -> LearnedVectors:
    """RAISES (KeyError, ValueError): For what is missing, or of another net."""
    net = HashNet(**{name: arrays[name] for name in HashNet._fields})
    if "paths" in arrays:
        raise ValueError("it holds senses")
    check_net(net, (*net.output_bias.shape, 0)[0])
    return LearnedVectors(net)


@serialize_attr.register(LearnedVectors)
def _to_bytes(_: LearnedVectors, value: LearnedVectors, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value.net._asdict())


@deserialize_attr.register(LearnedVectors)
def _from_bytes(_: LearnedVectors, value: bytes, name: str, model: Model) -> LearnedVectors:
    return LearnedVectors(HashNet(**srsly.msgpack_loads(value)))
