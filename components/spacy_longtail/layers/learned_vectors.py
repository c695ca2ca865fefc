"""Vectors of words that weights have learnt: of a piece's hash, what an encoder makes of it."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from spacy.strings import get_string_id
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d, Ints1d

from .hash_net import HashNet, check_array, check_net, in_batches, read_net
from .piece_vectors import GOES_ON, PieceVectors

LONGEST = 100  # letters of a word that is cut into pieces; a longer one has none
ACCENTS = re.compile("[\u0300-\u036f]")


@dataclass
class LearnedVectors(PieceVectors):
    """A net whose outputs are the vectors of pieces. A word is cut where they are longest.

    net (HashNet): It has learnt pieces as `plain` writes them.
    pieces (Ints1d): (n_pieces,) uint32, sorted: the upper halves of their hashes.
    """

    net: HashNet
    pieces: Ints1d

    @property
    def n_columns(self) -> int:
        return len(self.net.output_bias)

    def cut(self, words: list[str]) -> list[list[int]]:
        return [self._cut(plain(word)) for word in words]

    def rows(self, pieces: list[int]) -> Floats2d:
        found: Floats2d = in_batches(self.net.outputs, np.array(pieces, dtype="uint64"))
        return found

    def _cut(self, word: str) -> list[int]:
        """The hashes of a word's pieces; a letter that none begins with is left out."""
        found: list[int] = []
        start, end = 0, len(word) if len(word) <= LONGEST else 0
        while start < end:
            goes_on = start > 0 and word[start - 1].isalnum() and word[start].isalnum()
            mark = GOES_ON * goes_on
            for stop in range(end, start, -1):
                own = get_string_id(f"{mark}{word[start:stop]}")
                if own >> 32 in self._halves:
                    found.append(own)
                    break
            start = stop
        return found

    @cached_property
    def _halves(self) -> frozenset[int]:
        return frozenset(self.pieces.tolist())


NO_LEARNED = LearnedVectors(HashNet(*(np.zeros(0) for _ in HashNet._fields)), np.zeros(0))


def plain(word: str) -> str:
    """In lower case, and without the accents of letters."""
    apart = unicodedata.normalize("NFD", word.lower())
    return unicodedata.normalize("NFC", ACCENTS.sub("", apart))


def upper_half(hashes: Ints1d) -> Ints1d:
    """Of hashes of 64 bits: enough to tell pieces apart, in half the bytes."""
    found: Ints1d = (hashes >> np.uint64(32)).astype("uint32")
    return found


def read_vectors(path: str | Path) -> LearnedVectors:
    """Vectors that `distil-vectors` wrote into a file. RAISES (ValueError): L266, L402."""
    return read_net(path, _vectors, "learned vectors", "distil-vectors")


def _vectors(arrays: Mapping[str, np.ndarray]) -> LearnedVectors:
    """RAISES (KeyError, ValueError): For what is missing, or of another net."""
    net = HashNet(**{name: arrays[name] for name in HashNet._fields})
    pieces = arrays["pieces"]
    check_net(net, (*net.output_bias.shape, 0)[0])
    check_array("pieces", pieces, (*pieces.shape, 0)[:1], np.unsignedinteger)
    return LearnedVectors(net, pieces)


def arrays_of(vectors: LearnedVectors) -> dict[str, Any]:
    """By name, as a file has them."""
    return {**vectors.net._asdict(), "pieces": vectors.pieces}


@serialize_attr.register(LearnedVectors)
def _to_bytes(_: LearnedVectors, value: LearnedVectors, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(arrays_of(value))


@deserialize_attr.register(LearnedVectors)
def _from_bytes(_: LearnedVectors, value: bytes, name: str, model: Model) -> LearnedVectors:
    arrays = srsly.msgpack_loads(value)
    pieces = arrays.pop("pieces")
    return LearnedVectors(HashNet(**arrays), pieces)
