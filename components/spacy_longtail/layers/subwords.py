"""Static vectors of subwords. The vector of a word is the mean of its subwords' vectors."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import srsly
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.util import load_model_from_path
from thinc.api import Model, glorot_uniform_init
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d, Ragged

from ..encoders import check_encoder
from ..errors import Errors
from .listeners import nodes_of
from .quantized import EightBit

WITHIN = "##"  # prefix of a subword that is not the first of a word
MAX_LETTERS = 100  # of a word; the others are ignored
MAX_CACHED = 100_000  # words with cached vectors
NAME = "subword_vectors"


@dataclass
class SubwordTable:
    """Table of subword vectors. A word is split from left to right into the longest subwords.

    vectors (EightBit): Shape (n_subwords, n_columns).
    subwords (List[str]): Texts of subwords, after `WITHIN` for those within a word.
    is_plain (bool): Whether they are in lower case and without accents.
    """

    vectors: EightBit
    subwords: list[str]
    is_plain: bool

    @property
    def n_columns(self) -> int:
        return int(self.vectors.codes.shape[1])

    def cut(self, words: list[str]) -> list[list[int]]:
        """Return the subwords of each word as rows of the table, skipping letters without any."""
        return [self._cut(plain(word) if self.is_plain else word) for word in words]

    def parts(self, subwords: list[str]) -> list[list[int]]:
        """Return the shorter subwords that other subwords consist of, as rows of the table."""
        return [self._cut(text.removeprefix(WITHIN), text.startswith(WITHIN)) for text in subwords]

    def of_words(self, words: list[str]) -> Floats2d:
        """Return one row per word, shape (n_words, n_columns); zeros if it has no subwords."""
        if len(self._known) > MAX_CACHED:
            self._known = {}  # another one: threads may be reading this
        known = self._known
        if new := [word for word in words if word not in known]:
            known.update(zip(new, self.means(self.cut(new)), strict=True))
        none = np.zeros((0, self.n_columns), dtype="float32")
        return np.stack([known[word] for word in words]) if words else none

    def means(self, rows: list[list[int]]) -> Floats2d:
        """Return the mean vector of each text, shape (n_texts, n_columns).

        rows (List[List[int]]): Subwords of each text, as rows of the table.
        """
        flat = np.array([row for ids in rows for row in ids], dtype="int64")
        vectors = self.vectors.codes[flat] * self.vectors.scales[flat, None]
        sums = np.zeros((len(flat) + 1, self.n_columns))
        np.cumsum(vectors, axis=0, dtype="float64", out=sums[1:])
        lengths = np.array([len(row) for row in rows], dtype="int64")
        ends = np.cumsum(lengths)
        means = (sums[ends] - sums[ends - lengths]) / np.maximum(lengths, 1)[:, None]
        return cast(Floats2d, means.astype("float32"))

    def _cut(self, word: str, is_inner: bool = False) -> list[int]:
        ids: list[int] = []
        start, end = 0, min(len(word), MAX_LETTERS)
        while start < end:
            mark = WITHIN * (word[start - 1 : start + 1].isalnum() if start else is_inner)
            stop = start + 1
            for stop in range(end, start, -1):
                row = self._rows.get(f"{mark}{word[start:stop]}")
                if row is not None:
                    ids.append(row)
                    break
            start = stop
        return ids

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {subword: row for row, subword in enumerate(self.subwords)}

    @cached_property
    def _known(self) -> dict[str, np.ndarray]:
        return {}

    def to_bytes(self) -> bytes:
        """Return the table as msgpack, with the subwords as one text."""
        subwords = "\n".join(self.subwords)
        return srsly.msgpack_dumps(
            {**self.vectors._asdict(), "subwords": subwords, "is_plain": self.is_plain}
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> "SubwordTable":
        """Return the table that `to_bytes` wrote."""
        read = srsly.msgpack_loads(data)
        subwords = read["subwords"].split("\n") if len(read["codes"]) else []
        return cls(EightBit(read["codes"], read["scales"]), subwords, read["is_plain"])

    def __getstate__(self) -> dict[str, object]:
        """Return the state without cached values."""
        return {"vectors": self.vectors, "subwords": self.subwords, "is_plain": self.is_plain}


NO_SUBWORDS = SubwordTable(EightBit(np.zeros((0, 0), "int8"), np.zeros(0, "float32")), [], True)


def plain(word: str) -> str:
    """Return a word in lower case and without accents."""
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def read_subwords(source: str) -> SubwordTable:
    """Load the table of subwords of an encoder.

    source (str): Name or folder of the encoder.
    RAISES (ValueError): If it has none (L265).
    """
    nlp = load_model_from_path(check_encoder(source))
    tables = (node.attrs["subwords"] for node in nodes_of(nlp) if node.name == NAME)
    table: SubwordTable | None = next(tables, None)
    if table is None:
        raise ValueError(Errors.L265.format(name=source, problem="It has no subword vectors."))
    return table


def subword_vectors(source: str, width: int) -> Model[list[Doc], Ragged]:
    """Create a layer that projects the vectors of words, (n_tokens, width).

    The vectors are loaded at initialization, saved with the model, and not trained.

    source (str): A pipeline with subword vectors: a folder, or an installed encoder.
    width (int): Width of the projected vectors.
    """
    return Model(
        NAME,
        forward,
        init=init,
        params={"W": None},
        dims={"nO": width, "nM": None},
        attrs={"source": source, "subwords": NO_SUBWORDS},
    )


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    if not model.attrs["subwords"].n_columns:
        if not X:
            return
        model.attrs["subwords"] = read_subwords(model.attrs["source"])
    n_columns = model.attrs["subwords"].n_columns
    model.set_dim("nM", n_columns)
    model.set_param("W", glorot_uniform_init(model.ops, (model.get_dim("nO"), n_columns)))


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable]:
    ops, table = model.ops, model.attrs["subwords"]
    lengths = ops.asarray1i([len(doc) for doc in docs])
    orths = np.concatenate([doc.to_array("ORTH") for doc in docs] or [np.zeros(0, dtype="uint64")])
    distinct, word_of = np.unique(orths, return_inverse=True)
    strings = docs[0].vocab.strings if docs else StringStore()
    words = [strings[orth] for orth in distinct.tolist()]
    vectors: Floats2d = ops.asarray2f(table.of_words(words))
    W = model.get_param("W")
    rows, word_of = ops.gemm(vectors, W, trans2=True), ops.asarray1i(word_of.reshape(-1))

    def backprop(d_rows: Ragged) -> list[Doc]:
        d_distinct = ops.alloc2f(*rows.shape)
        ops.scatter_add(d_distinct, word_of, d_rows.dataXd)
        model.inc_grad("W", ops.gemm(d_distinct, vectors, trans1=True))
        return []

    return Ragged(rows[word_of], lengths), backprop


serialize_attr.register(SubwordTable, lambda _, table, *where: table.to_bytes())
deserialize_attr.register(SubwordTable, lambda _, data, *where: SubwordTable.from_bytes(data))
