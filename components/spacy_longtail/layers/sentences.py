"""Layers around an encoder: token vectors regrouped by sentence, and refs for components."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, chain
from thinc.layers.chain import forward as run_chain
from thinc.types import Floats2d, Ragged

from ..sentences import sentence_lengths


def with_sentences(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Doc], Ragged]:
    """Run an encoder on whole documents and regroup its rows by sentence.

    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, width), lengths (n_sentences,).
    """
    return Model(
        "with_sentences",
        forward,
        init=init,
        layers=[tok2vec],
        dims={"nO": tok2vec.maybe_get_dim("nO")},
    )


def with_refs(model: Model, tok2vec: Model, output: Model) -> Model:
    """Return a model with refs to its encoder and its output layer, by which pipes find them."""
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def chain_over_tokens(empty: Callable[[Model, list[Doc]], Any], *layers: Model) -> Model:
    """Chain layers that do not run where no document has a token, as most of them cannot.

    It has the nodes of thinc's `chain`, so that weights of either can be loaded into the other.

    empty (Callable): Returns the output for documents without tokens: of model and documents.
    layers (Model): At least two; the first reads documents.
    """
    chained = chain(*layers)
    dims = {name: chained.maybe_get_dim(name) for name in chained.dim_names}
    run = partial(forward_over_tokens, empty)
    return Model(chained.name, run, init=chained.init, layers=chained.layers, dims=dims)


def forward_over_tokens(
    empty: Callable[[Model, list[Doc]], Any], model: Model, docs: list[Doc], is_train: bool
) -> tuple[Any, Callable]:
    if any(map(len, docs)):
        return run_chain(model, docs, is_train)
    return empty(model, docs), lambda d_output: []


def init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    """Initialize the inner layer, and take its width."""
    layer = model.layers[0]
    layer.initialize(X=X)
    if layer.has_dim("nO"):
        model.set_dim("nO", layer.get_dim("nO"))


def forward(model: Model, docs: list[Doc], is_train: bool) -> tuple[Ragged, Callable]:
    vectors, backprop = model.layers[0](docs, is_train)
    lengths = np.concatenate([np.zeros(0, "i"), *map(sentence_lengths, docs)])
    n_rows = [len(doc) for doc in docs]

    def backward(d_rows: Ragged) -> list[Doc]:
        return backprop(model.ops.unflatten(d_rows.dataXd, model.ops.asarray1i(n_rows)))

    return Ragged(model.ops.flatten(vectors), model.ops.asarray1i(lengths)), backward
