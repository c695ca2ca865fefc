"""Vectors of words that weights have learnt: of a word's hash, what an encoder makes of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy.strings import get_string_id
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d, Ints1d

from .hash_net import HashNet, check_array, check_net, in_batches, read_net


class LearnedVectors(NamedTuple):
    """A net whose outputs are vectors of the words that it knows; others have zeros.

    net (HashNet): It has learnt words in lower case.
    words (Ints1d): (n_words,) uint32, sorted: the upper halves of their hashes.
    """

    net: HashNet
    words: Ints1d

    @property
    def n_columns(self) -> int:
        return len(self.net.output_bias)

    def of_words(self, words: list[str]) -> Floats2d:
        """(n_words, n_columns) float32. words (List[str]): Looked up in lower case."""
        hashes = np.array([get_string_id(word.lower()) for word in words], dtype="uint64")
        found: Floats2d = in_batches(self._find, hashes)
        return found

    def _find(self, hashes: Ints1d) -> Floats2d:
        short = upper_half(hashes)
        places = np.searchsorted(self.words, short).clip(max=len(self.words) - 1)
        found = self.net.outputs(hashes)
        found[self.words[places] != short] = 0.0
        return found


NO_LEARNED = LearnedVectors(HashNet(*(np.zeros(0) for _ in HashNet._fields)), np.zeros(0))


def upper_half(hashes: Ints1d) -> Ints1d:
    """Of hashes of 64 bits: enough to tell words apart, in half the bytes."""
    found: Ints1d = (hashes >> np.uint64(32)).astype("uint32")
    return found


def read_vectors(path: Path) -> LearnedVectors:
    """Vectors that `distil-vectors` wrote into a file. RAISES (ValueError): L266, L402."""
    return read_net(path, _vectors, "learned vectors", "distil-vectors")


def _vectors(arrays: Mapping[str, np.ndarray]) -> LearnedVectors:
    """RAISES (KeyError, ValueError): For what is missing, or of another net."""
    net = HashNet(**{name: arrays[name] for name in HashNet._fields})
    words = arrays["words"]
    check_net(net, (*net.output_bias.shape, 0)[0])
    check_array("words", words, (*words.shape, 0)[:1], np.unsignedinteger)
    return LearnedVectors(net, words)


def arrays_of(vectors: LearnedVectors) -> dict[str, Any]:
    """By name, as a file has them."""
    return {**vectors.net._asdict(), "words": vectors.words}


@serialize_attr.register(LearnedVectors)
def _to_bytes(_: LearnedVectors, value: LearnedVectors, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(arrays_of(value))


@deserialize_attr.register(LearnedVectors)
def _from_bytes(_: LearnedVectors, value: bytes, name: str, model: Model) -> LearnedVectors:
    arrays = srsly.msgpack_loads(value)
    words = arrays.pop("words")
    return LearnedVectors(HashNet(**arrays), words)
