"""Encoders: static vectors, an LSTM, and a frozen encoder."""

import math
from collections.abc import Callable

from spacy.ml.staticvectors import StaticVectors as VectorTable
from spacy.tokens import Doc
from thinc.api import Model, chain, ragged2list
from thinc.types import Floats2d

from ..errors import Errors
from ..layers.listeners import check_vectors, listener_in
from ..layers.sentences import chain_over_tokens
from ..layers.sentences import init as init_encoder
from ..layers.torch_layer import require_torch, rows_from_torch, rows_to_torch, shim_of, torch_layer
from ..settings import finite, whole


def StaticVectors(width: int = 300) -> Model[list[Doc], list[Floats2d]]:
    """Create an encoder of the pipeline's word vectors, projected, without any context.

    With longtail.TokenClassifier.v1 this is the papers' shallow model: a linear layer over
    pretrained vectors, which are not trained. Words without a vector are zeros.

    width (int): Width of the output. The vectors' own width, or more, loses nothing.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, width).
    SOURCE: Wang & Wang 2022, section 4.4.
    """
    width = whole("width", width, "The vectors' own width loses nothing.", 1)
    layer: Model = chain(VectorTable(nO=width), ragged2list())
    return Model("static_vectors", _vectors, init=_init, layers=[layer], dims={"nO": width})


def _vectors(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    if docs:  # a component that is taken from a pipeline is not initialized
        check_vectors(model, docs[0].vocab, "longtail.StaticVectors.v1")
    return model.layers[0](docs, is_train)


def _init(model: Model, X: list[Doc] | None = None, Y: object = None) -> None:
    if X:
        check_vectors(model, X[0].vocab, "longtail.StaticVectors.v1")
    init_encoder(model, X)


def FrozenEncoder(tok2vec: Model[list[Doc], list[Floats2d]]) -> Model[list[Doc], list[Floats2d]]:
    """Freeze a pretrained encoder: no gradient, dropout or weight decay reaches it.

    tok2vec (Model[List[Doc], List[Floats2d]]): The component's own encoder, such as
        spacy-transformers.Tok2VecTransformer.v3. It is initialized and saved as usual.
    RETURNS (Model[List[Doc], List[Floats2d]]): The encoder's rows.
    SOURCE: The frozen BERT with a feed-forward layer of Nguyen, Nguyen & Rao 2020.
    """
    if name := listener_in(tok2vec):
        problem = f"{name} listens to a shared encoder, which would no longer be trained"
        fix = "Name an encoder of its own, or put the shared component into frozen_components."
        raise ValueError(Errors.L241.format(who="longtail.FrozenEncoder.v1", problem=problem, fix=fix))
    return Model(
        "frozen_encoder",
        _frozen,
        init=init_encoder,
        layers=[tok2vec],
        dims={"nO": tok2vec.maybe_get_dim("nO")},
    )


def _frozen(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    return model.layers[0].predict(docs) if docs else [], lambda d_rows: []


def BiLSTM(
    embed: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 128,
    depth: int = 1,
    dropout: float = 0.2,
) -> Model[list[Doc], list[Floats2d]]:
    """Create a bidirectional LSTM over an embedding layer, in torch.

    A document is one sequence: the state of a word knows all words before it, or after it. Neither
    padding nor the other documents of a batch enter a state. Weights are saved as safetensors.

    embed (Model[List[Doc], List[Floats2d]]): Vectors of the words: spacy.MultiHashEmbed.v2,
        or longtail.StaticVectors.v1. It is trained along.
    hidden_width (int): Units of each of the two directions. The output is twice as wide.
    depth (int): Layers, each reading the outputs of the one below.
    dropout (float): Share of each layer's outputs that is zeroed in training, 0 to below 1. The
        `dropout` of [training] does not reach the LSTM.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, 2 * hidden_width).
    SOURCE: Huang, Xu & Yu 2015, arXiv:1508.01991; Graves & Schmidhuber 2005.
    """
    width, rate = lstm_settings(hidden_width, dropout)
    n_layers = whole("depth", depth, "1 or 2 is usual.", 1)
    from ..layers.torch_bilstm import BiLSTM as Module

    module = Module(width, n_layers, rate, embed.maybe_get_dim("nO"))
    encode = torch_layer(module, rows_to_torch, rows_from_torch, draw_for_inputs)
    encode.name = "bilstm"
    encode.set_dim("nO", 2 * width)
    model: Model[list[Doc], list[Floats2d]] = chain_over_tokens(_no_rows, embed, encode)
    model.set_ref("embed", embed)
    model.set_ref("encode", encode)
    return model


def _no_rows(model: Model, docs: list[Doc]) -> list[Floats2d]:
    return [model.ops.alloc2f(0, model.get_ref("encode").get_dim("nO")) for _ in docs]


def lstm_settings(hidden_width: int, dropout: float) -> tuple[int, float]:
    """Check the settings of an LSTM and that torch is installed, and return the settings."""
    below_one = math.nextafter(1.0, 0.0)
    rate = finite("dropout", dropout, "a share, 0 to below 1", "Use 0 for none.", 0.0, below_one)
    width = whole("hidden_width", hidden_width, "64 or 128 is usual.", 1)
    require_torch()
    return width, rate


def draw_for_inputs(model: Model, X: list[Floats2d] | None = None, Y: object = None) -> None:
    """Draw new weights of an LSTM for the width of its inputs, on its device."""
    if X:
        width, shim = X[0].shape[1], shim_of(model)
        device = shim.device
        model.set_dim("nI", width)
        shim.module.resize(width)
        shim.module.to(device)
