"""Sentence classifiers: one logit per sentence. Those of the gate's paper are in torch."""

from spacy.tokens import Doc
from thinc.api import Linear, Maxout, Model, chain, ragged2list, reduce_max, with_array, zero_init
from thinc.types import Floats2d

from ..layers.sentences import chain_over_tokens, with_refs, with_sentences
from ..layers.torch_layer import rows_to_torch, torch_layer
from ..settings import whole
from .encoders import draw_for_inputs, lstm_settings


def SentenceGate(
    tok2vec: Model[list[Doc], list[Floats2d]], hidden_width: int = 64
) -> Model[list[Doc], Floats2d]:
    """Create a sentence classifier: the maximum of token features, and a linear layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Width of the token features.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    """
    hidden_width = whole("hidden_width", hidden_width, "64 is usual.", 1)
    hidden: Model = Maxout(nO=hidden_width, nI=tok2vec.maybe_get_dim("nO"), nP=2)
    tokens: Model = chain(with_sentences(tok2vec), with_array(hidden))
    output: Model = Linear(nO=1, nI=hidden_width, init_W=zero_init)
    return with_refs(chain_over_tokens(_no_sentences, tokens, reduce_max(), output), tok2vec, output)


def RNNCNNGate(
    tok2vec: Model[list[Doc], list[Floats2d]], hidden_width: int = 64, dropout: float = 0.2
) -> Model[list[Doc], Floats2d]:
    """Create a sentence classifier of words and LSTM states, by the maximum of a tanh layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Units of each of the LSTM's directions, and of the layer over the words.
    dropout (float): Share of the LSTM's states that is zeroed in training, 0 to below 1. The
        `dropout` of [training] does not reach the LSTM.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    SOURCE: Nguyen, Nguyen & Rao 2020, RNN-CNN, after Lai et al. 2015.
    """
    return _gate("RNNCNN", tok2vec, hidden_width, dropout)


def LSTMAttentionGate(
    tok2vec: Model[list[Doc], list[Floats2d]], hidden_width: int = 64, dropout: float = 0.2
) -> Model[list[Doc], Floats2d]:
    """Create a sentence classifier of LSTM states, weighted by their similarity to the last one.

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
    """Create a sentence classifier of several weighted sums of LSTM states, with learnt weights.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    hidden_width (int): Units of each of the LSTM's directions.
    attention_width (int): Units of the layer that makes the weights.
    n_hops (int): Weighted sums, each with weights of its own.
    dropout (float): Share of the LSTM's states that is zeroed in training, 0 to below 1.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    SOURCE: Nguyen, Nguyen & Rao 2020, Self-Attention, after Lin et al. 2017, eq. 6-7, no penalty.
    """
    n_attention = whole("attention_width", attention_width, "64 is usual.", 1)
    hops = whole("n_hops", n_hops, "4 is usual.", 1)
    return _gate("SelfAttention", tok2vec, hidden_width, dropout, n_hops=hops, n_attention=n_attention)


def _gate(
    name: str, tok2vec: Model[list[Doc], list[Floats2d]], hidden_width: int, dropout: float, **sizes: int
) -> Model[list[Doc], Floats2d]:
    width, rate = lstm_settings(hidden_width, dropout)
    from ..layers import torch_gates

    module = getattr(torch_gates, name)(width, rate, n_in=tok2vec.maybe_get_dim("nO"), **sizes)
    classify = torch_layer(module, convert_inputs=rows_to_torch, init=draw_for_inputs)
    classify.name = "sentence_gate"
    layers: tuple[Model, ...] = (with_sentences(tok2vec), ragged2list(), classify)
    return with_refs(chain_over_tokens(_no_sentences, *layers), tok2vec, classify)


def _no_sentences(model: Model, docs: list[Doc]) -> Floats2d:
    return model.ops.alloc2f(0, 1)
