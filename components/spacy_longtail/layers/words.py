"""Characters of words, each distinct word of a batch once."""

from collections.abc import Callable

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ragged

N_OWN = 4096  # code points below it have a row each: Latin, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai
N_SHARED = 4093  # rows that all others share, by remainder; a prime
N_ROWS = N_OWN + N_SHARED


def with_distinct_words(
    layer: Model[Ragged, Floats2d], width: int, max_chars: int
) -> Model[list[Doc], list[Floats2d]]:
    """Run a layer on the characters of each distinct word of a batch; a token gets its word's row.

    layer (Model[Ragged, Floats2d]): Table rows of characters, below N_ROWS, data (n_chars,), lengths
        (n_words,), to vectors of words, (n_words, width).
    width (int): Width of the layer's output.
    max_chars (int): Characters of a word that are read; see `cut`.
    RETURNS (Model[List[Doc], List[Floats2d]]): (n_tokens, width) per document.
    """
    return Model(
        "with_distinct_words",
        forward,
        init=init,
        layers=[layer],
        dims={"nO": width},
        attrs={"max_chars": max_chars},
    )


def init(model: Model, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
    model.layers[0].initialize()


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    ops, lengths = model.ops, [len(doc) for doc in docs]
    if not any(lengths):
        return [ops.alloc2f(0, model.get_dim("nO")) for _ in docs], lambda d_rows: []
    orths = np.concatenate([doc.to_array("ORTH") for doc in docs])
    distinct, word_of = np.unique(orths, return_inverse=True)
    strings = docs[0].vocab.strings
    words = [cut(strings[orth], model.attrs["max_chars"]) for orth in distinct.tolist()]
    n_chars = ops.asarray1i([len(word) for word in words])
    vectors, backprop = model.layers[0](Ragged(ops.asarray1i(char_rows(words)), n_chars), is_train)
    word_of = ops.asarray1i(word_of)

    def backward(d_rows: list[Floats2d]) -> list[Doc]:
        d_vectors = ops.alloc2f(*vectors.shape)
        ops.scatter_add(d_vectors, word_of, ops.flatten(d_rows))
        backprop(d_vectors)
        return []

    return ops.unflatten(vectors[word_of], ops.asarray1i(lengths)), backward


def cut(word: str, max_chars: int) -> str:
    """The first and the last half of as many characters; an odd one goes to the first half."""
    if len(word) <= max_chars:
        return word
    n_last = max_chars // 2
    return word[: max_chars - n_last] + word[len(word) - n_last :]


def char_rows(words: list[str]) -> np.ndarray:
    """The table row of every character, (n_chars,): nothing is learnt from a corpus, case is kept."""
    points = np.frombuffer("".join(words).encode("utf-32-le"), dtype="<u4").astype("int64")
    return np.where(points < N_OWN, points, N_OWN + points % N_SHARED)
