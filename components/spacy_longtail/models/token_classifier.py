"""One row of tag logits per token."""

from spacy.tokens import Doc
from thinc.api import Linear, Model, chain, list2ragged, with_array, zero_init
from thinc.types import Floats2d, Ragged


def TokenClassifier(
    tok2vec: Model[list[Doc], list[Floats2d]], nO: int | None = None
) -> Model[list[Doc], Ragged]:
    """Documents to one row of tag logits per token: an encoder and a linear layer.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, such as spacy.HashEmbedCNN.v2.
    nO (Optional[int]): Tags; null is set by the pipe from its labels.
    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, n_tags), lengths (n_docs,).
    """
    output: Model = Linear(nO=nO, nI=tok2vec.maybe_get_dim("nO"), init_W=zero_init)
    model: Model[list[Doc], Ragged] = chain(tok2vec, list2ragged(), with_array(output))
    model.set_ref("tok2vec", tok2vec)
    model.set_ref("output_layer", output)
    return model
