"""What a model needs of its pipeline: rows of an encoder in another component, and word vectors."""

import re
import warnings
from collections.abc import Iterable, Iterator

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors, Warnings

LISTENER = re.compile(r"[\w.-]*listener[\w.-]*")  # not "tok2vec-listener>>linear"


def nodes_of(nlp: Language) -> Iterator[Model]:
    """The layers of all models of a pipeline, those of disabled components too."""
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    return (node for model in models if isinstance(model, Model) for node in model.walk())


def listener_in(model: Model) -> str | None:
    """The name of a listener anywhere in a model, spaCy's or a transformer's; None for none.

    They share no base class: spaCy, spacy-transformers, spacy-curated-transformers each have one.
    What is built of layers keeps the name of a listener that `nlp.replace_listeners` has taken out.
    """
    return next((node.name for node in model.walk() if LISTENER.fullmatch(node.name)), None)


def warn_of_zeros(model: Model, docs: Iterable[Doc], who: str) -> None:
    """Warn where a listener would give zeros, as no component before it has read a document."""
    bare = [doc for doc in docs if len(doc) and not doc.tensor.size]  # of no tok2vec
    if Doc.has_extension("trf_data"):
        bare = [doc for doc in bare if doc._.trf_data is None]
    if bare and listener_in(model) is not None:
        warnings.warn(Warnings.W106.format(who=who), stacklevel=4)


def check_vectors(model: Model, vocab: Vocab, who: str) -> None:
    """Refuse a pipeline without the word vectors that a model was built for, or trained with."""
    length, problem = vocab.vectors_length, "the pipeline has none"
    tables = (node for node in model.walk() if node.name == "static_vectors" and node.has_dim("nM"))
    known = next((node.get_dim("nM") for node in tables), length)
    if length and known != length:
        problem = f"it was trained with {known} columns, the pipeline's have {length}"
    if not length or known != length:
        raise ValueError(Errors.L240.format(who=who, problem=problem))
