"""Pretrained heads: loads the described head of another pipeline, and copies its weights."""

from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from thinc.api import Model, to_numpy

from ...describers import HashedDescriptions
from ...encoders import check_encoder
from ...errors import START, Errors
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...layers.listeners import listener_in, tok2vec_of
from ...types import Block
from ..neighbours import name_in
from ..sources import add_sources, sources_of
from .describing import are_alike, vectors_of

# which of a pretrained head's prefixes a prefix starts from that it lacks
FROM_PREFIX = {"B": "B", "I": "I", "L": "I", "U": "B"}


class PretrainedHead(NamedTuple):
    """A described head that another pipeline has learnt."""

    path: str | Path  # of its pipeline
    nlp: Language
    pipe: Any  # a TokenTagger
    describe: Block | None  # the block of its describer


def read_pretrained(path: str | Path, who: str, fix: str = START) -> PretrainedHead:
    """Load the described head of a pretrained pipeline.

    path (str | Path): Folder of the pipeline, or an installed encoder.
    who (str): Who needs it, for messages.
    fix (str): How to name another pipeline, for messages.
    RAISES (ValueError): If the pipeline cannot be loaded or has no such head (L274).
    """
    folder = check_encoder(path)
    try:
        nlp = spacy.load(folder)
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        raise ValueError(
            Errors.L274.format(
                who=who, path=path, problem=" ".join(f"{type(error).__name__}: {error}".split()), fix=fix
            )
        ) from error
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        layer = model.maybe_get_ref("output_layer") if isinstance(model, Model) else None
        if layer is not None and is_described(layer):
            block = nlp.config.interpolate()["components"][name].get("describe")
            return PretrainedHead(path, nlp, pipe, block)
    factories = ", ".join(nlp.get_pipe_meta(name).factory for name in nlp.pipe_names) or "nothing"
    problem = f"no component has a longtail.DescribedTypes.v1 model, found {factories}"
    raise ValueError(Errors.L274.format(who=who, path=path, problem=problem, fix=fix))


def take_pretrained(pipe: Any, head: PretrainedHead, nlp: Language | None) -> None:
    """Copy the weights of a pretrained head and of its encoder, without which it is useless.

    A tok2vec with a `source` has these weights already; the config of a saved pipeline has none.
    """
    layer, theirs = output_of(pipe.model), output_of(head.pipe.model)
    texts = [head.pipe.types.descriptions[label] for label in head.pipe.labels]
    # a disabled tok2vec is frozen, and keeps its weights
    tok2vec = tok2vec_of([] if nlp is None else nlp.pipeline, pipe)
    upstream = tok2vec_of(head.nlp.pipeline, head.pipe)
    problem = ""
    if listener_in(pipe.model) is None:
        problem = "this component has an encoder of its own: let it listen to a tok2vec component"
    for name, dim in (("encoder", "nI"), ("width", "nM")):
        if (given := theirs.get_dim(dim)) != (needed := layer.get_dim(dim)):
            problem = f"its {name} has {given} columns, this one {needed}"
    vectors = vectors_of(texts, pipe.describe, pipe.name)
    if not are_alike(vectors, to_numpy(theirs.get_param("D"))):
        problem = "its descriptions have other vectors: it was trained with another 'describe'"
    if tok2vec is not None and upstream is not None and not problem:
        try:
            tok2vec.model.from_bytes(upstream.model.to_bytes())
        except Exception:  # of msgpack, of thinc: each its own kind
            problem = f"its encoder has other layers than {tok2vec.name!r}: let it be its source"
    if problem:
        raise ValueError(Errors.L274.format(who=pipe.name, path=head.path, problem=problem, fix=START))
    known, prefixes = head.pipe.tokens.codec.prefixes, pipe.tokens.codec.prefixes
    rows = [known.index(p if p in known else FROM_PREFIX[p]) for p in prefixes]
    for name in ("P", "Q"):
        layer.set_param(name, layer.ops.asarray(to_numpy(theirs.get_param(name))[rows]))
    for name in ("W", "b"):  # of O
        layer.get_param(name)[0] = layer.ops.asarray(to_numpy(theirs.get_param(name))[0])
    if nlp is not None:
        add_sources(nlp, sources_of(head.nlp.meta))


def settle_describer(pipe: Any, head: PretrainedHead | None, nlp: Language | None) -> None:
    """Set the describer of a component, and save it with the config, for types added later.

    Without one in the settings it is that of the pretrained head, or one that hashes words.

    pipe (TokenTagger): The component.
    head (Optional[PretrainedHead]): The head that it starts from.
    nlp (Optional[Language]): Its pipeline.
    """
    block: Block = {"@misc": "longtail.HashedDescriptions.v1"}
    if head is not None and pipe.describe in (None, head.pipe.describe):
        pipe.describe, block = head.pipe.describe, head.describe or block
    elif pipe.describe is None:
        pipe.describe = HashedDescriptions()
    else:
        return
    pipe.share_layers(nlp)
    if nlp is not None and (name := name_in(nlp, pipe)):
        nlp.get_pipe_config(name)["describe"] = block
