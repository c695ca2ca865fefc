"""Whether a pipeline has the word vectors that a model reads."""

from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors


def check_vectors(model: Model, vocab: Vocab, who: str) -> None:
    """Refuse a pipeline without the word vectors that a model was built for, or trained with.

    model (Model): With spaCy's static vectors in it. vocab (Vocab): Of the pipeline.
    who (str): The architecture.
    """
    found = vocab.vectors_length
    if not found:
        raise ValueError(Errors.L240.format(who=who, problem="the pipeline has none"))
    tables = (node for node in model.walk() if node.name == "static_vectors" and node.has_dim("nM"))
    known = next((node.get_dim("nM") for node in tables), found)
    if known != found:
        problem = f"it was trained with {known} columns, the pipeline's have {found}"
        raise ValueError(Errors.L240.format(who=who, problem=problem))
