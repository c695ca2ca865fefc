"""Models with one row of tag logits per token."""

from spacy.tokens import Doc
from thinc.api import Linear, Model, list2ragged, with_array, zero_init
from thinc.types import Floats2d, Ragged

from ..layers.described import described_linear
from ..layers.sentences import chain_over_tokens, with_refs
from ..settings import whole


def TokenClassifier(
    tok2vec: Model[list[Doc], list[Floats2d]], nO: int | None = None
) -> Model[list[Doc], Ragged]:
    """Create a model of an encoder and a linear layer, with one row of tag logits per token.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, such as spacy.HashEmbedCNN.v2.
    nO (Optional[int]): Number of tags; null is set by the component.
    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, n_tags), lengths (n_docs,).
    """
    return _tagger(tok2vec, Linear(nO=nO, nI=tok2vec.maybe_get_dim("nO"), init_W=zero_init))


def DescribedTypes(
    tok2vec: Model[list[Doc], list[Floats2d]],
    width: int = 256,
    residual: bool = True,
    nO: int | None = None,
) -> Model[list[Doc], Ragged]:
    """Create a model with one row of tag logits per token, by descriptions of the types.

    Rare types share the weights that frequent types train, and a new type starts from its
    description. In addition each type has weights that start at zero and learn from its mentions.
    The component computes the vectors of the descriptions once, at initialization, and saves them.

    tok2vec (Model[List[Doc], List[Floats2d]]): The encoder, such as spacy.HashEmbedCNN.v2.
    width (int): Number of columns in which tokens and descriptions are compared.
    residual (bool): Whether types have weights of their own. False is for pretraining, which trains
        only the shared weights, and for types without any mention.
    nO (Optional[int]): Number of tags; null is set by the component.
    RETURNS (Model[List[Doc], Ragged]): Data (n_tokens, n_tags), lengths (n_docs,).
    SOURCE: Ma et al. 2022, Label Semantics for Few Shot NER, ACL Findings.
    """
    width = whole("width", width, "256 is the default.", 1)
    return _tagger(tok2vec, described_linear(width, residual, nO, tok2vec.maybe_get_dim("nO")))


def _tagger(tok2vec: Model[list[Doc], list[Floats2d]], output: Model) -> Model[list[Doc], Ragged]:
    model = chain_over_tokens(_no_tokens, tok2vec, list2ragged(), with_array(output))
    return with_refs(model, tok2vec, output)


def _no_tokens(model: Model, docs: list[Doc]) -> Ragged:
    n_tags = model.get_ref("output_layer").get_dim("nO")
    return Ragged(model.ops.alloc2f(0, n_tags), model.ops.alloc1i(len(docs)))
