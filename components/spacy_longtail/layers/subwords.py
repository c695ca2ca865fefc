"""Static vectors of subwords, such as Model2Vec distils from an encoder: no word is unknown."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import srsly
from spacy.strings import StringStore
from spacy.tokens import Doc
from thinc.api import Model, glorot_uniform_init
from thinc.model import deserialize_attr, serialize_attr
from thinc.types import Floats2d, Ragged

from ..errors import Errors
from ..hub import check_subwords
from ..settings import extra
from ..types import NET_SUFFIX
from .learned_vectors import NO_LEARNED, LearnedVectors, read_vectors
from .piece_vectors import GOES_ON, PieceVectors

if TYPE_CHECKING:  # an extra, and what comes with it
    from model2vec import StaticModel
    from tokenizers import Tokenizer

BEGINS = ("\u2581", "\u0120")  # of SentencePiece and of byte pairs: before a word's first piece
BROKEN = "\ufffd"  # of a part of a character


@dataclass
class SubwordVectors(PieceVectors):
    """A vector for each piece, and the tokenizer that cuts words into pieces.

    vectors (np.ndarray): (n_pieces, n_columns) float16.
    tokenizer (str): JSON of a Hugging Face tokenizer. unknown (int): Piece without a meaning, or -1.
    """

    vectors: np.ndarray
    tokenizer: str
    unknown: int

    @property
    def n_columns(self) -> int:
        return int(self.vectors.shape[1])

    def cut(self, words: list[str]) -> list[list[int]]:
        found = self._tokenizer.encode_batch(words, add_special_tokens=False)
        return [[i for i in encoding.ids if i != self.unknown] for encoding in found]

    def rows(self, pieces: list[int]) -> np.ndarray:
        found: np.ndarray = self.vectors[np.array(pieces, dtype="int64")]
        return found

    def written(self) -> dict[int, str]:
        """How each piece is written, after `GOES_ON` if it goes on with a word; without special ones.

        Of a vocabulary that marks beginnings, the pieces without a mark go on.
        """
        cut = self._tokenizer
        special = {self.unknown, *cut.get_added_tokens_decoder()}
        tokens = {i: cut.id_to_token(i) for i in range(len(self.vectors)) if i not in special}
        is_marked = any(token.startswith(BEGINS) for token in tokens.values())
        found = {}
        for i, token in tokens.items():
            goes_on = not token.startswith(BEGINS) if is_marked else token.startswith(GOES_ON)
            text = cut.decode([i]).strip()
            text = text.removeprefix(GOES_ON) if goes_on else text
            if text and BROKEN not in text:
                found[i] = f"{GOES_ON * goes_on}{text}"
        return found

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        with extra("tokenizers", "model2vec"):
            from tokenizers import Tokenizer
        found = Tokenizer.from_str(self.tokenizer)
        found.no_padding()  # a word has its own pieces alone, and all of them
        found.no_truncation()
        return found


def read_words(source: str) -> SubwordVectors | LearnedVectors:
    """The vectors of words.

    source (str): As for `read_subwords`; or a file of `distil-vectors`, *.npz.
    RAISES (ValueError): L264, L266, L402, L406.
    """
    return read_vectors(source) if source.endswith(NET_SUFFIX) else read_subwords(source)


def read_subwords(source: str) -> SubwordVectors:
    """The vectors of a Model2Vec model.

    source (str): Its folder, or its name on the Hugging Face hub.
    RAISES (ValueError): L264, L406.
    """
    with extra("model2vec", "model2vec"):
        from model2vec import StaticModel
    check_subwords(source)
    try:
        found = StaticModel.from_pretrained(source, force_download=False)
    except Exception as error:  # of the hub, of safetensors, of the tokenizer: each its own kind
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L264.format(path=source, problem=problem)) from error
    return subwords_of(found)


def subwords_of(found: "StaticModel") -> SubwordVectors:
    """The vectors of a Model2Vec model that is loaded."""
    vectors = np.asarray(found.embedding, dtype="float32")
    if found.token_mapping is not None:  # a model whose pieces share vectors
        vectors = vectors[found.token_mapping]
    if found.weights is not None:
        vectors = vectors * np.asarray(found.weights, dtype="float32")[:, None]
    unknown = -1 if found.unk_token_id is None else int(found.unk_token_id)
    return SubwordVectors(vectors.astype("float16"), found.tokenizer.to_str(), unknown)


NO_SUBWORDS = SubwordVectors(np.zeros((0, 0), dtype="float16"), "", -1)


def subword_vectors(source: str, width: int) -> Model[list[Doc], Ragged]:
    """Vectors of words, projected: (n_tokens, width).

    The vectors are read at initialisation, saved with the model, and not trained.

    source (str): As for `read_words`. width (int): Columns of the output.
    """
    return Model(
        "subword_vectors",
        forward,
        init=init,
        params={"W": None},
        dims={"nO": width, "nM": None},
        # by the kind of what is there at first the saved one is read
        attrs={"source": source, "subwords": NO_LEARNED if source.endswith(NET_SUFFIX) else NO_SUBWORDS},
    )


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    if not model.attrs["subwords"].n_columns:
        if not X:
            return
        model.attrs["subwords"] = read_words(model.attrs["source"])
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


@serialize_attr.register(SubwordVectors)
def _to_bytes(_: SubwordVectors, value: SubwordVectors, name: str, model: Model) -> bytes:
    kept = {"vectors": value.vectors, "tokenizer": value.tokenizer, "unknown": value.unknown}
    return srsly.msgpack_dumps(kept)


@deserialize_attr.register(SubwordVectors)
def _from_bytes(_: SubwordVectors, value: bytes, name: str, model: Model) -> SubwordVectors:
    return SubwordVectors(**srsly.msgpack_loads(value))
