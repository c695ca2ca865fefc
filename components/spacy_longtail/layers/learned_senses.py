"""Senses that weights have learnt: of a word's hash, the path that a small net is sure of."""

import zlib
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
import srsly
from thinc.api import Model, NumpyOps
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d, Ints1d

from ..errors import Errors

SUFFIX = ".npz"  # of files of learned senses
BATCH = 4096  # words whose scores are held at a time
HASHES = 8  # seed of the four rows of a word, as in thinc's HashEmbed
OPS = NumpyOps()  # words are looked up on the CPU


class LearnedSenses(NamedTuple):
    """A net with one hidden layer, from a word's four rows of a table to paths; the first says none.

    It has learnt words in lower case.
    """

    table: np.ndarray  # (n_rows, width) int8
    scale: np.ndarray  # (1,) float32, of the table
    hidden: np.ndarray  # (n_hidden, width) float16
    hidden_bias: np.ndarray  # (n_hidden,) float16
    output: np.ndarray  # (1 + n_paths, n_hidden) float16
    output_bias: np.ndarray  # (1 + n_paths,) float16
    paths: Ints1d  # (n_paths,) uint32, as of a PathTable
    least: np.ndarray  # (1,) float32, the probability from which on a path is believed

    def find(self, hashes: Ints1d) -> Ints1d:
        """Row in `paths` of each word, -1 where there is none. hashes (Ints1d): (n,) uint64."""
        distinct, word_of = np.unique(hashes, return_inverse=True)
        batches = np.array_split(distinct.astype("uint64"), 1 + len(distinct) // BATCH)
        found: Ints1d = np.concatenate([self._find(batch) for batch in batches])[word_of.reshape(-1)]
        return found

    def _find(self, hashes: Ints1d) -> Ints1d:
        rows = OPS.hash(hashes, HASHES) % len(self.table)
        words = self.table[rows].sum(axis=1, dtype="float32") * self.scale
        states = np.maximum(_linear(words, self.hidden, self.hidden_bias), 0)
        scores = _linear(states, self.output, self.output_bias)
        found = scores.argmax(axis=1)
        some = np.flatnonzero(found)
        likely = scores[some]
        p = 1 / np.exp(likely - likely.max(axis=1, keepdims=True)).sum(axis=1)
        found[some[p < self.least]] = 0
        return found - 1


NO_SENSES = LearnedSenses(*(np.zeros(0) for _ in LearnedSenses._fields))


def _linear(X: Floats2d, W: np.ndarray, b: np.ndarray) -> Floats2d:
    found: Floats2d = OPS.gemm(X, W.astype("float32"), trans2=True) + b
    return found


def read_learned(path: Path) -> LearnedSenses:
    """Senses that `distil-senses` wrote. RAISES (ValueError): L266, L402."""
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="`distil-senses` writes such a file."))
    try:
        with np.load(path, allow_pickle=False) as found:
            senses = LearnedSenses(**{name: found[name] for name in LearnedSenses._fields})
        _check(senses)
    except (
        AttributeError,
        BadZipFile,
        EOFError,
        KeyError,
        OSError,
        TypeError,
        ValueError,
        zlib.error,
    ) as error:
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L266.format(path=path, problem=problem)) from error
    return senses


def _check(senses: LearnedSenses) -> None:
    """Whether the arrays are of one net. RAISES (ValueError): For the first that is not."""
    sizes = [(*getattr(senses, name).shape, 0, 0)[:2] for name in ("table", "hidden", "paths")]
    (n_rows, _), (n_hidden, width), (n_paths, _) = sizes
    for name, shape, kind in (
        ("paths", (n_paths,), np.unsignedinteger),
        ("hidden", (n_hidden, width), np.floating),
        ("hidden_bias", (n_hidden,), np.floating),
        ("output", (1 + n_paths, n_hidden), np.floating),
        ("output_bias", (1 + n_paths,), np.floating),
        ("table", (n_rows, width), np.signedinteger),
        ("scale", (1,), np.floating),
        ("least", (1,), np.floating),
    ):
        array = getattr(senses, name)
        if array.shape != shape or not array.size or not np.issubdtype(array.dtype, kind):
            raise ValueError(f"{name} is {array.dtype} {array.shape}, wanted {shape}, not empty")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are none")


@serialize_attr.register(LearnedSenses)
def _to_bytes(_: LearnedSenses, value: LearnedSenses, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value._asdict())


@deserialize_attr.register(LearnedSenses)
def _from_bytes(_: LearnedSenses, value: bytes, name: str, model: Model) -> LearnedSenses:
    return LearnedSenses(**srsly.msgpack_loads(value))
