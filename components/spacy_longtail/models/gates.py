"""Sentence classifiers: one logit per sentence. Those of the gate's paper are in torch."""

from collections.abc import Callable

from spacy.tokens import Doc
from thinc.api import (
    ArgsKwargs,
    Linear,
    Maxout,
    Model,
    chain,
    reduce_max,
    torch2xp,
    with_array,
    xp2torch,
    zero_init,
)
from thinc.types import Floats2d, Ragged

from ..layers import with_sentences
from ..layers.torch_layer import resize, shim_of, torch_layer
from ..settings import whole
from .encoders import lstm_settings


def SentenceGate(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 64,
) -> Model[list[Doc], Floats2d]:
    """Documents to one logit per sentence: the maximum of token features over it, and a linear layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Width of the token features.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    """
    hidden_width = whole("hidden_width", hidden_width, "64 is usual.", 1)
    hidden: Model = Maxout(nO=hidden_width, nI=tok2vec.maybe_get_dim("nO"), nP=2)
    tokens: Model = chain(with_sentences(tok2vec), with_array(hidden))
    output: Model = Linear(nO=1, nI=hidden_width, init_W=zero_init)
    model: Model[list[Doc], Floats2d] = chain(tokens, reduce_max(), output)
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def RNNCNNGate(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 64,
    dropout: float = 0.2,
) -> Model[list[Doc], Floats2d]:
    """Words beside their bidirectional LSTM states, a linear layer with tanh, the maximum over words.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Units of each of the LSTM's directions, and of the layer over the words.
    dropout (float): Share of the LSTM's states that is zeroed in training, 0 to below 1. The `dropout`
        of [training] does not reach the LSTM.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    SOURCE: Nguyen, Nguyen & Rao 2020, RNN-CNN, after Lai et al. 2015.
    """
    return _gate("RNNCNN", tok2vec, hidden_width, dropout)


def LSTMAttentionGate(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 64,
    dropout: float = 0.2,
) -> Model[list[Doc], Floats2d]:
    """Bidirectional LSTM states, weighted by how alike each is to the last one.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Units of each of the LSTM's directions.
    dropout (float): Share of the LSTM's states that is zeroed in training, 0 to below 1.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    SOURCE: Nguyen, Nguyen & Rao 2020, LSTM-Attention: softmax of dot products with the last state.
    """
    return _gate("LSTMAttention", tok2vec, hidden_width, dropout)


def SelfAttentionGate(
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 64,
    attention_width: int = 64,
    n_hops: int = 4,
    dropout: float = 0.2,
) -> Model[list[Doc], Floats2d]:
    """Several weighted sums of bidirectional LSTM states, with learnt weights.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Units of each of the LSTM's directions.
    attention_width (int): Units of the layer that makes the weights.
    n_hops (int): Weighted sums, each with weights of its own.
    dropout (float): Share of the LSTM's states that is zeroed in training, 0 to below 1.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    SOURCE: Nguyen, Nguyen & Rao 2020, Self-Attention, after Lin et al. 2017, eq. 6-7, without penalty.
    """
    n_attention = whole("attention_width", attention_width, "64 is usual.", 1)
    hops = whole("n_hops", n_hops, "4 is usual.", 1)
    return _gate("SelfAttention", tok2vec, hidden_width, dropout, n_hops=hops, n_attention=n_attention)


def _gate(
    name: str,
    tok2vec: Model[list[Doc], list[Floats2d]],
    hidden_width: int,
    dropout: float,
    **sizes: int,
) -> Model[list[Doc], Floats2d]:
    """A gate with a module of `layers.torch_gates`."""
    width, rate = lstm_settings(hidden_width, dropout)
    from ..layers import torch_gates

    module = getattr(torch_gates, name)(width, rate, n_in=tok2vec.maybe_get_dim("nO"), **sizes)
    classify = torch_layer(module, convert_inputs=sentences_to_torch, init=init)
    classify.name = "sentence_gate"
    model: Model[list[Doc], Floats2d] = chain(with_sentences(tok2vec), classify)
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", classify)
    return model


def sentences_to_torch(model: Model, X: Ragged, is_train: bool) -> tuple[ArgsKwargs, Callable]:
    """convert_inputs for a module of rows (n_tokens, width) and a list of n_sentences lengths."""
    rows = xp2torch(X.dataXd, requires_grad=is_train, device=shim_of(model).device)

    def from_gradient(d_inputs: ArgsKwargs) -> Ragged:
        return Ragged(torch2xp(d_inputs.args[0]), X.lengths)

    return ArgsKwargs(args=(rows, model.ops.to_numpy(X.lengths).tolist()), kwargs={}), from_gradient


def init(model: Model, X: Ragged | None = None, Y: Floats2d | None = None) -> None:
    """Draw new weights for the width that the encoder gives."""
    if X is None:
        return
    resize(model, X.dataXd.shape[1])
