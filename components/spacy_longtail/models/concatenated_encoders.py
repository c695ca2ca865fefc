"""Several encoders side by side."""

from spacy.tokens import Doc
from thinc.api import Model, concatenate
from thinc.types import Floats2d

from ..errors import Errors


def ConcatenatedEncoders(
    *encoders: Model[list[Doc], list[Floats2d]],
) -> Model[list[Doc], list[Floats2d]]:
    """The rows of several encoders joined, such as a transformer's and those of static vectors.

    encoders (Model[List[Doc], List[Floats2d]]): Two or more, own or listeners; in a config a block with
        a free name each, such as [components.ner.model.tok2vec.*.vectors].
    RETURNS (Model[List[Doc], List[Floats2d]]): One row per token, as wide as all of them together.
    SOURCE: GloVe beside BERT in Nguyen, Nguyen & Rao 2020.
    """
    if len(encoders) < 2:
        who, problem = "longtail.ConcatenatedEncoders.v1", "it joins two or more"
        fix = "Add a block such as [components.ner.model.tok2vec.*.vectors]."
        raise ValueError(Errors.L241.format(who=who, problem=problem, fix=fix))
    return concatenate(*encoders)
