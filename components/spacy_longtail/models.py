"""Architectures, composed from stock thinc layers and `layers/`."""

from typing import Literal

from spacy.tokens import Doc
from thinc.api import (
    Linear,
    Maxout,
    Model,
    ParametricAttention,
    chain,
    list2ragged,
    reduce_max,
    reduce_mean,
    reduce_sum,
    with_array,
    zero_init,
)
from thinc.types import Floats2d, Ragged

from .layers import with_sentences


def TokenClassifier(
    tok2vec: Model[list[Doc], list[Floats2d]], nO: int | None = None
) -> Model[list[Doc], Ragged]:
    """Documents to one row of tag logits a token: an encoder and a linear layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, such as spacy.HashEmbedCNN.v2.
    nO (Optional[int]): Tags; null is set by the pipe from its labels.
    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, n_tags), lengths (n_docs,).
    """
    output: Model = Linear(nO=nO, nI=tok2vec.maybe_get_dim("nO"), init_W=zero_init)
    model: Model[list[Doc], Ragged] = chain(tok2vec, list2ragged(), with_array(output))
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model


def SentenceGate(
    tok2vec: Model[list[Doc], list[Floats2d]],
    reduction: Literal["max", "mean", "attention"] = "max",
    hidden_width: int = 64,
) -> Model[list[Doc], Floats2d]:
    """Documents to one logit a sentence: token features, reduced over the sentence, and a linear layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, own or a listener.
    reduction (str): "max" or "mean" over the tokens, or "attention", a learned weighted sum.
    hidden_width (int): Width of the token features that are reduced.
    RETURNS (Model[List[Doc], Floats2d]): (n_sentences, 1), the sentences of all documents in order.
    """
    hidden: Model = Maxout(nO=hidden_width, nI=tok2vec.maybe_get_dim("nO"), nP=2)
    tokens: Model = chain(with_sentences(tok2vec), with_array(hidden))
    if reduction == "attention":
        reduced: Model = chain(tokens, ParametricAttention(hidden_width), reduce_sum())
    else:
        reduced = chain(tokens, reduce_max() if reduction == "max" else reduce_mean())
    output: Model = Linear(nO=1, nI=hidden_width, init_W=zero_init)
    model: Model[list[Doc], Floats2d] = chain(reduced, output)
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model
