"""A small net over words: rows of a table by a word's hash, a hidden layer, and outputs."""

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar
from zipfile import BadZipFile

import numpy as np
from thinc.api import NumpyOps
from thinc.types import Floats2d, Ints1d

from ..encoders import located
from ..errors import AGAIN, Errors

HASHES = 8  # seed of the four rows of a word, as in thinc's HashEmbed
BATCH = 4096  # words whose outputs are held at a time
OPS = NumpyOps()  # words are looked up on the CPU

Own = TypeVar("Own")


class HashNet(NamedTuple):
    """What a net consists of, in few bytes. It has learnt words in lower case."""

    table: np.ndarray  # (n_rows, width) int8
    scale: np.ndarray  # (1,) float32, of the table
    hidden: np.ndarray  # (n_hidden, width) float16
    hidden_bias: np.ndarray  # (n_hidden,) float16
    output: np.ndarray  # (n_outputs, n_hidden) float16
    output_bias: np.ndarray  # (n_outputs,) float16

    def outputs(self, hashes: Ints1d) -> Floats2d:
        """(n_words, n_outputs) float32. hashes (Ints1d): (n_words,) uint64."""
        rows = OPS.hash(hashes, HASHES) % len(self.table)
        words = self.table[rows].sum(axis=1, dtype="float32") * self.scale
        states = np.maximum(_linear(words, self.hidden, self.hidden_bias), 0)
        return _linear(states, self.output, self.output_bias)


def _linear(X: Floats2d, W: np.ndarray, b: np.ndarray) -> Floats2d:
    found: Floats2d = OPS.gemm(X, W.astype("float32"), trans2=True) + b
    return found


def in_batches(find: Callable[[Ints1d], np.ndarray], hashes: Ints1d) -> np.ndarray:
    """What is found for words, a batch at a time and each distinct one once.

    hashes (Ints1d): (n_words,) uint64. RETURNS (np.ndarray): A row for each.
    """
    distinct, word_of = np.unique(hashes, return_inverse=True)
    batches = np.array_split(distinct.astype("uint64"), 1 + len(distinct) // BATCH)
    found: np.ndarray = np.concatenate([find(batch) for batch in batches])[word_of.reshape(-1)]
    return found


def check_net(net: HashNet, n_outputs: int) -> None:
    """Whether the arrays are of one net. RAISES (ValueError): For the first that is not."""
    (n_rows, _), (n_hidden, width) = ((*a.shape, 0, 0)[:2] for a in (net.table, net.hidden))
    wanted = {
        "hidden": ((n_hidden, width), np.floating),
        "hidden_bias": ((n_hidden,), np.floating),
        "output": ((n_outputs, n_hidden), np.floating),
        "output_bias": ((n_outputs,), np.floating),
        "table": ((n_rows, width), np.signedinteger),
        "scale": ((1,), np.floating),
    }
    for name, (shape, kind) in wanted.items():
        check_array(name, getattr(net, name), shape, kind)


def check_array(name: str, array: np.ndarray, shape: tuple[int, ...], kind: type) -> None:
    """Compare an array's shape and kind of numbers. RAISES (ValueError): Where it differs."""
    if array.shape != shape or not array.size or not np.issubdtype(array.dtype, kind):
        raise ValueError(f"{name} is {array.dtype} {array.shape}, wanted {shape}, not empty")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are none")


def read_net(
    source: str | Path, build: Callable[[Mapping[str, np.ndarray]], Own], what: str, command: str
) -> Own:
    """Read what a command wrote into a file of arrays.

    source (str | Path): The file, or one of an encoder as "en_longtail_cnn/senses.npz".
    build (Callable[[Mapping[str, np.ndarray]], Own]): Of the arrays by name; a KeyError or ValueError
        where they are none of it. what (str): It is. command (str): That writes it.
    RAISES (ValueError): L266, L402.
    """
    path = located(source)
    if not path.is_file():
        fix = f"`{command}` writes such a file. {AGAIN}"
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    try:
        with np.load(path, allow_pickle=False) as found:
            return build(found)
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
        shown = {"path": path, "what": what, "problem": problem, "command": command}
        raise ValueError(Errors.L266.format(**shown)) from error
