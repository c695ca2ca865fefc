"""Descriptions of types, and the vectors that weights are computed from."""

from collections.abc import Iterable, Mapping

import numpy as np
from spacy.util import logger
from thinc.api import Model, to_numpy
from thinc.types import Floats2d

from ...corpus.type_words import problem_of_texts, type_words
from ...describers import Describer, HashedDescriptions
from ...describers.base import unit_rows
from ...errors import Errors
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...settings import unused

ALIKE = 0.99  # cosine of vectors of one text by one describer
ROUNDING = 1e-5  # greatest difference of numbers of one vector that is computed twice
COMPARED = 1024  # types that are compared with all others at once


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
    described = type_words(list(types), dict(given))
    texts = {label: " ".join(text.split()) for label, text in described.items()}
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
            raise ValueError(
                Errors.L802.format(
                    who=who, first=first, text=texts[first], other=other, as_text=texts[other]
                )
            )
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


def are_alike(vectors: Floats2d, others: Floats2d) -> bool:
    """Return whether one describer computed both arrays, shape (n_texts, nD), of unit rows."""
    cosines = (vectors * others).sum(axis=1) if vectors.shape == others.shape else np.zeros(1)
    return bool(cosines.min(initial=1.0) >= ALIKE)
