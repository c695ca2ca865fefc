"""An encoder that reads each document from both ends."""

import math

from spacy.tokens import Doc
from thinc.api import Model, chain
from thinc.types import Floats2d

from ..errors import Errors
from ..layers.torch_layer import require_torch, resize, rows_from_torch, rows_to_torch, torch_layer
from ..settings import finite, whole

WHO = "longtail.BiLSTM.v1"


def BiLSTM(
    embed: Model[list[Doc], list[Floats2d]],
    hidden_width: int = 128,
    depth: int = 1,
    dropout: float = 0.2,
) -> Model[list[Doc], list[Floats2d]]:
    """A bidirectional LSTM over an embedding layer, in torch.

    A document is one sequence: the state of a word knows all words before it, or after it. Neither
    padding nor the other documents of a batch enter a state. Weights are saved as safetensors.

    embed (Model[List[Doc], List[Floats2d]]): Vectors of the words: spacy.MultiHashEmbed.v2,
        longtail.StaticVectors.v1, or longtail.ConcatenatedEncoders.v1 of several. It is trained along.
    hidden_width (int): Units of each of the two directions. The output is twice as wide.
    depth (int): Layers, each reading the outputs of the one below.
    dropout (float): Share of each layer's outputs that is zeroed in training, 0 to below 1. The
        `dropout` of [training] does not reach the LSTM.
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, (n_tokens, 2 * hidden_width).
    SOURCE: Huang, Xu & Yu 2015, arXiv:1508.01991; Graves & Schmidhuber 2005.
    """
    hidden_width = whole("hidden_width", hidden_width, "128 is usual.", 1)
    depth = whole("depth", depth, "1 or 2 is usual.", 1)
    below_one = math.nextafter(1.0, 0.0)
    dropout = finite("dropout", dropout, "a share, 0 to below 1", "Use 0 for none.", 0.0, below_one)
    require_torch()
    from ..layers.torch_bilstm import BiLSTM as Module

    encode = torch_layer(
        Module(hidden_width, depth, dropout, embed.maybe_get_dim("nO")),
        convert_inputs=rows_to_torch,
        convert_outputs=rows_from_torch,
        init=init,
    )
    encode.name = "bilstm"
    encode.set_dim("nO", 2 * hidden_width)
    model: Model[list[Doc], list[Floats2d]] = chain(embed, encode)
    model.set_ref("embed", embed)
    model.set_ref("encode", encode)
    return model


def init(model: Model, X: list[Floats2d] | None = None, Y: list[Floats2d] | None = None) -> None:
    """Draw new weights for the width that `embed` gives."""
    if not X:
        return
    if not isinstance(X, list) or any(getattr(x, "ndim", 0) != 2 for x in X):
        problem = f"it gives {type(X).__name__}, not a row per token of each document"
        fix = "Use spacy.MultiHashEmbed.v2, longtail.StaticVectors.v1 or another encoder."
        raise ValueError(Errors.L241.format(who=WHO, problem=problem, fix=fix))
    width = X[0].shape[1]
    model.set_dim("nI", width)
    resize(model, width)
