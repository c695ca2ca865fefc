"""One logit per sentence."""

from spacy.tokens import Doc
from thinc.api import Linear, Maxout, Model, chain, reduce_max, with_array, zero_init
from thinc.types import Floats2d

from ..layers import with_sentences
from ..settings import whole


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
