"""Dependencies of a model on its pipeline: a shared encoder, and word vectors."""

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import takewhile
from threading import Lock
from typing import Any
from weakref import WeakSet

from spacy.language import Language
from spacy.pipeline import Tok2Vec, TrainablePipe
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors, Warnings

LISTENER = re.compile(r"[\w.-]*listener[\w.-]*")  # not "tok2vec-listener>>linear"

_PIPELINES: WeakSet[Language] = WeakSet()  # those that components of this package were built for
_listing = Lock()  # a thread may load a pipeline while others predict


def nodes_of(nlp: Language) -> Iterator[Model]:
    """Yield the layers of all models of a pipeline, including disabled components."""
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    return (node for model in models if isinstance(model, Model) for node in model.walk())


def listener_in(model: Model) -> str | None:
    """Return the name of a listener anywhere in a model, spaCy's or a transformer's.

    spaCy, spacy-transformers and spacy-curated-transformers have listeners without a common base
    class. A combination of layers keeps the name of a listener that was replaced.
    """
    return next((node.name for node in model.walk() if LISTENER.fullmatch(node.name)), None)


def remember(nlp: Language) -> None:
    """Let `check_listened` look at a pipeline, as long as it is in use elsewhere."""
    with _listing:
        _PIPELINES.add(nlp)


def pipelines() -> list[Language]:
    """Return the pipelines that are remembered and in use."""
    with _listing:
        return list(_PIPELINES)


def check_listened(pipe: TrainablePipe, docs: Sequence[Doc]) -> None:
    """Check that a component's listener reads the vectors that its own encoder has written.

    All encoders of a kind write to one place, so without its own encoder a listener reads what
    another has written there. It warns of documents that no encoder has read.

    pipe (TrainablePipe): The component.
    docs (Sequence[Doc]): Documents that it is about to process.
    RAISES (ValueError): If another encoder of the running pipeline was the last to write there.
    """
    vocab = next((doc.vocab for doc in docs if len(doc)), None)
    # a component that two pipelines share knows neither of them, but each document has its own
    # pipeline's vocabulary
    sharing = [nlp for nlp in pipelines() if nlp.vocab is vocab]
    running = [nlp for nlp in sharing if any(other is pipe for _, other in nlp.components)]
    misread = [_misread(nlp, pipe) for nlp in running]
    if misread and misread[0] and all(misread):
        raise ValueError(Errors.L813.format(who=pipe.name, **misread[0]))
    bare = [doc for doc in docs if len(doc) and not doc.tensor.size]  # of no tok2vec
    if Doc.has_extension("trf_data"):
        bare = [doc for doc in bare if doc._.trf_data is None]
    if bare and listener_in(pipe.model) is not None:
        warnings.warn(Warnings.W106.format(who=pipe.name), stacklevel=4)


def encoders_of(pipe: TrainablePipe) -> list[Model]:
    """Return the models of the tok2vec components whose vectors a component's listener reads."""
    found = (tok2vec_of(nlp.components, pipe) for nlp in pipelines())
    return [tok2vec.model for tok2vec in found if tok2vec is not None]


def tok2vec_of(components: Sequence[tuple[str, Any]], pipe: object) -> Tok2Vec | None:
    """Return the tok2vec that a component listens to, if it is among these components.

    components (Sequence[Tuple[str, Any]]): Components with their names: those of a pipeline, with
        or without the disabled ones.
    pipe (object): The component. It is looked up by identity, because one that two pipelines share
        has only one name.
    """
    names = {name for name, other in components if other is pipe}
    encoders = (other for _, other in components if isinstance(other, Tok2Vec))
    return next((other for other in encoders if names.intersection(other.listening_components)), None)


def _misread(nlp: Language, pipe: TrainablePipe) -> dict[str, str] | None:
    """Return the encoder of a component, what is wrong with it, and the encoder that it would read.

    Without an enabled encoder before the component there is nothing to say: the documents may have
    been read before.
    """
    enabled: list[tuple[str, Any]] = list(nlp.pipeline)
    before = takewhile(lambda row: row[1] is not pipe, enabled)
    encoders = [(name, other) for name, other in before if hasattr(other, "listening_components")]
    if not encoders or pipe.name in encoders[-1][1].listening_components:
        return None
    for node in pipe.model.walk():
        upstream = getattr(node, "upstream_name", "*")
        place = "doc.tensor" if isinstance(node, Tok2VecListener) else "doc._.trf_data"
        rivals = [name for name, _ in encoders if place in nlp.get_pipe_meta(name).assigns]
        if upstream != "*" and rivals and rivals[-1] != upstream:
            state = "is not in the pipeline"
            if upstream in nlp.component_names:
                state = f"does not stand between {rivals[-1]!r} and {pipe.name!r}"
                state = "is disabled" if upstream in nlp.disabled else state
            return {"upstream": upstream, "state": state, "other": rivals[-1]}
    return None


def check_vectors(model: Model, vocab: Vocab, who: str) -> None:
    """Refuse a pipeline without the word vectors that a model was built for, or trained with."""
    length, problem = vocab.vectors_length, "the pipeline has none"
    tables = (node for node in model.walk() if node.name == "static_vectors" and node.has_dim("nM"))
    known = next((node.get_dim("nM") for node in tables), length)
    if length and known != length:
        problem = f"it was trained with {known} columns, the pipeline's have {length}"
    if not length or known != length:
        raise ValueError(Errors.L240.format(who=who, problem=problem))
