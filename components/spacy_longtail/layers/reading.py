"""What reading comprehension needs of an encoder: sentences' rows, and vectors of token pairs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ints2d

from .queries import Asked


class Reading(NamedTuple):
    """What a model makes of the tokens of sentences; a gradient on it has the same shape."""

    vectors: Floats2d  # (n_rows, width)
    logits: Floats2d  # (n_rows, 2), an entity begins here, an entity ends here


def sentence_rows(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Asked], Floats2d]:
    """Run an encoder on queries with sentences, and keep the rows of the sentences.

    RETURNS (Model[List[Asked], Floats2d]): (n_rows, width), one sentence after another.
    """
    dims = {"nO": tok2vec.maybe_get_dim("nO")}
    return Model("sentence_rows", rows_forward, init=rows_init, layers=[tok2vec], dims=dims)


def rows_init(model: Model, X: list[Asked] | None = None, Y: Floats2d | None = None) -> None:
    encoder = model.layers[0]
    docs = None if X is None else [asked.doc for asked in X]
    encoder.initialize(X=docs)
    if docs and model.maybe_get_dim("nO") is None:  # some encoders never set it
        model.set_dim("nO", encoder.predict(docs)[0].shape[1])


def rows_forward(model: Model, X: list[Asked], is_train: bool) -> tuple[Floats2d, Callable]:
    vectors, backprop = model.layers[0]([asked.doc for asked in X], is_train)
    rows = model.ops.xp.concatenate([v[asked.n_query :] for v, asked in zip(vectors, X, strict=True)])

    def backward(d_rows: Floats2d) -> list[Doc]:
        ends = np.cumsum([len(asked.doc) - asked.n_query for asked in X]).tolist()
        d_vectors = []
        for asked, start, end in zip(X, [0, *ends], ends, strict=False):
            d_own = model.ops.alloc2f(len(asked.doc), d_rows.shape[1])
            d_own[asked.n_query :] = d_rows[start:end]
            d_vectors.append(d_own)
        return backprop(d_vectors)

    return rows, backward


def paired_rows() -> Model[tuple[Floats2d, Ints2d], Floats2d]:
    """Rows at pairs of places: (n_rows, width) and (n_pairs, 2) to (n_pairs, 2 width)."""
    return Model("paired_rows", pairs_forward)


def pairs_forward(model: Model, X: tuple[Floats2d, Ints2d], is_train: bool) -> tuple[Floats2d, Callable]:
    rows, pairs = X
    n_rows, width = rows.shape

    def backward(d_pairs: Floats2d) -> Floats2d:
        d_rows = model.ops.alloc2f(n_rows, width)
        for i in (0, 1):
            model.ops.xp.add.at(d_rows, pairs[:, i], d_pairs[:, i * width : (i + 1) * width])
        return d_rows

    return model.ops.xp.hstack([rows[pairs[:, 0]], rows[pairs[:, 1]]]), backward
