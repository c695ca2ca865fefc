"""Token vectors of documents, regrouped by sentence."""

from collections.abc import Callable

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ragged

from ..corpus.sentences import sentence_lengths


def with_sentences(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Doc], Ragged]:
    """Run an encoder on whole documents and regroup its rows by sentence.

    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, width), lengths (n_sentences,).
    """
    return Model(
        "with_sentences", forward, init=init, layers=[tok2vec], dims={"nO": tok2vec.maybe_get_dim("nO")}
    )


def init(model: Model, X: list[Doc] | None = None, Y: Ragged | None = None) -> None:
    layer = model.layers[0]
    layer.initialize(X=X)
    if layer.has_dim("nO"):
        model.set_dim("nO", layer.get_dim("nO"))


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable]:
    vectors, backprop = model.layers[0](docs, is_train)
    by_sentence = [sentence_lengths(doc) for doc in docs]
    lengths = model.ops.asarray1i(np.concatenate(by_sentence) if docs else np.zeros(0, "i"))
    n_rows = [len(doc) for doc in docs]
    rows = Ragged(model.ops.flatten(vectors), lengths)

    def backward(d_rows: Ragged) -> list[Doc]:
        return backprop(model.ops.unflatten(d_rows.dataXd, model.ops.asarray1i(n_rows)))

    return rows, backward
