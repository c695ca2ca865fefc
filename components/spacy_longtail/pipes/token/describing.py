"""Descriptions of a component's types, and the weights that are computed from them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import spacy
from spacy.language import Language
from spacy.util import logger
from thinc.api import Model, to_numpy
from thinc.types import Floats2d

from ...corpus.type_words import in_words, problem_of_texts
from ...describers import Describer, HashedDescriptions
from ...describers.base import unit_rows
from ...encoders import check_encoder
from ...errors import START, Errors
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...layers.listeners import tok2vec_of
from ...settings import unused
from ...types import Block
from ..base import LongtailPipe
from ..sources import add_sources, sources_of

ALIKE = 0.99  # cosine of vectors of one text by one describer
ROUNDING = 1e-5  # greatest difference of numbers of one vector that is computed twice
COMPARED = 1024  # types that are compared with all others at once
# which of a pretrained head's prefixes a prefix starts from that it lacks
FROM_PREFIX = {"B": "B", "I": "I", "L": "I", "U": "B"}


def check_described(model: Model, who: str, **settings: object) -> None:
    """Refuse settings that a model without descriptions would ignore.

    settings (Any): Values by name of the setting.
    """
    if not is_described(output_of(model)):
        for name, value in settings.items():
            if value:
                raise unused(name, value, who, "a model of longtail.DescribedTypes.v1")


def describe_types(types: Iterable[str], given: Mapping[str, str], who: str) -> dict[str, str]:
    """Return the description of each type: the given text, else the words of its name."""
    if odd := [label for label, text in given.items() if not isinstance(text, str)]:
        raise ValueError(Errors.L271.format(who=who, problem=f"a value that is not a text for {odd[0]}"))
    texts = {label: " ".join(text.split()) for label, text in in_words(types, given).items()}
    if problem := problem_of_texts(texts):
        raise ValueError(Errors.L271.format(who=who, problem=problem))
    logger.info("%s describes %s", who, "; ".join(f"{t}: {text}" for t, text in texts.items()))
    return texts


def describe_apart(texts: Mapping[str, str], describe: Describer | None, who: str) -> Floats2d:
    """Return one row of unit length for each type, no two of them equal.

    texts (Mapping[str, str]): Descriptions by type.
    RAISES (ValueError): If two types have one vector: the second could never be predicted.
    """
    vectors, labels = vectors_of(list(texts.values()), describe, who), list(texts)
    for start in range(0, len(labels), COMPARED):
        cosines = vectors[start : start + COMPARED] @ vectors.T
        others, types = np.nonzero(np.tril(cosines >= ALIKE, start - 1))
        others += start
        is_equal = np.abs(vectors[others] - vectors[types]).max(axis=1, initial=0.0) <= ROUNDING
        if is_equal.any():
            first, other = labels[types[is_equal][0]], labels[others[is_equal][0]]
            shown = {"first": first, "text": texts[first], "other": other, "as_text": texts[other]}
            raise ValueError(Errors.L802.format(who=who, **shown))
    return vectors


def extended(layer: Model, texts: Mapping[str, str], describe: Describer | None, who: str) -> Floats2d:
    """Return the vectors that a trained output layer has, and that of one more type.

    layer (Model): Described output layer with one vector for each type but the last.
    texts (Mapping[str, str]): Descriptions of all types, that of the new one last.
    describe (Optional[Describer]): Describer of the pipe; None hashes the words.
    who (str): Name of the pipe, for messages.
    RETURNS (Floats2d): Shape (n_types, nD).
    RAISES (ValueError): If the describer is not the one of the training (L272), or the new vector
        equals another one (L802).
    """
    known, vectors = to_numpy(layer.get_param("D")), describe_apart(texts, describe, who)
    if not are_alike(vectors[:-1], known):
        problem = f"other vectors than in training, so that {list(texts)[-1]!r} cannot be added"
        fix = "It must be the describer of the training."
        raise ValueError(Errors.L272.format(who=who, describe=describe, problem=problem, fix=fix))
    return np.concatenate([known, vectors[-1:]])


def vectors_of(texts: list[str], describe: Describer | None, who: str) -> Floats2d:
    """Return one row of unit length for each description.

    RAISES (ValueError): If the describer knows no word of a description (L272).
    """
    describe = describe or HashedDescriptions()
    vectors = np.asarray(to_numpy(describe(texts)), dtype="float32")
    if empty := [text for text, row in zip(texts, vectors, strict=True) if not row.any()]:
        problem = f"a vector of zeros for {', '.join(map(repr, empty))}"
        fix = (
            "It knows none of these words. Describe the types in words that it knows, which are English "
            "for an English encoder: in 'descriptions' of types.json or of the config, or in set_labels."
        )
        raise ValueError(Errors.L272.format(who=who, describe=describe, problem=problem, fix=fix))
    return unit_rows(vectors)


class PretrainedHead(NamedTuple):
    """A described head that another pipeline has learnt."""

    path: str | Path  # of its pipeline
    nlp: Language
    pipe: LongtailPipe
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
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L274.format(who=who, path=path, problem=problem, fix=fix)) from error
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        layer = model.maybe_get_ref("output_layer") if isinstance(model, Model) else None
        if layer is not None and is_described(layer):
            block = nlp.config.interpolate()["components"][name].get("describe")
            return PretrainedHead(path, nlp, cast(LongtailPipe, pipe), block)
    factories = ", ".join(nlp.get_pipe_meta(name).factory for name in nlp.pipe_names) or "nothing"
    problem = f"no component has a longtail.DescribedTypes.v1 model, found {factories}"
    raise ValueError(Errors.L274.format(who=who, path=path, problem=problem, fix=fix))


def are_alike(vectors: Floats2d, others: Floats2d) -> bool:
    """Return whether one describer computed both arrays, shape (n_texts, nD), of unit rows."""
    cosines = (vectors * others).sum(axis=1) if vectors.shape == others.shape else np.zeros(1)
    return bool(cosines.min(initial=1.0) >= ALIKE)


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
    known, prefixes = head.pipe.codec.prefixes, pipe.codec.prefixes
    rows = [known.index(p if p in known else FROM_PREFIX[p]) for p in prefixes]
    for name in ("P", "Q"):
        layer.set_param(name, layer.ops.asarray(to_numpy(theirs.get_param(name))[rows]))
    for name in ("W", "b"):  # of O
        layer.get_param(name)[0] = layer.ops.asarray(to_numpy(theirs.get_param(name))[0])
    if nlp is not None:
        add_sources(nlp, sources_of(head.nlp.meta))
