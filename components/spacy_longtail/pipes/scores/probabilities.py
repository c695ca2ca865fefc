"""Tag probabilities of tokens, which an NER writes to the Doc for later components."""

from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...errors import Errors
from ...types import TOKEN_PROBABILITIES

SETTING = "write_probabilities"  # of the components that can write them


def write_probabilities(doc: Doc, name: str, tags: Sequence[str], p: Floats2d) -> None:
    """Write the probabilities of a component to a document, as the most recent ones.

    doc (Doc): The document that the component has read.
    name (str): Name of the component.
    tags (Sequence[str]): The columns, such as "O" and "B-PER".
    p (Floats2d): Probability of each tag, shape (n_tokens, n_tags); see `TOKEN_PROBABILITIES`.
    """
    others = {
        other: kept
        for other, kept in doc.user_data.get(TOKEN_PROBABILITIES, {}).items()
        if other != name
    }
    doc.user_data[TOKEN_PROBABILITIES] = {
        **others,
        name: {"tags": list(tags), "p": np.array(p, dtype="float32")},
    }


def read_probabilities(doc: Doc, name: str | None, who: str) -> tuple[tuple[str, ...], Floats2d]:
    """Return the tags and the probabilities that a component has written.

    Which tags these are depends on the component: see `TOKEN_PROBABILITIES`. A component that reads
    them calls `gate.primary.ask_for_probabilities` when it is built.

    doc (Doc): A document with at least one token.
    name (Optional[str]): Name of that component; null is the last one that has written some.
    who (str): Name of the component that reads them, for messages.
    RETURNS (Tuple[Tuple[str, ...], Floats2d]): The tags; shape (n_tokens, n_tags).
    RAISES (ValueError): If there are none, or the tokens have changed since.
    """
    written = doc.user_data.get(TOKEN_PROBABILITIES, {})
    record = written.get(next(reversed(written), None) if name is None else name)
    if record is None:
        wanted = f"the component {name!r}" if name else "any component"
        found = f", only those of: {', '.join(written)}" if written else ""
        raise ValueError(Errors.L810.format(who=who, wanted=wanted, found=found))
    if len(record["p"]) != len(doc):
        raise ValueError(Errors.L811.format(who=who, n=len(record["p"]), tokens=len(doc)))
    return tuple(record["tags"]), record["p"]


def begin_probabilities(doc: Doc, name: str | None, labels: Collection[str], who: str) -> Floats2d:
    """Return the probability that a mention of each type begins at each token.

    doc, name, who: As for `read_probabilities`.
    labels (Collection[str]): The types.
    RETURNS (Floats2d): Shape (n_tokens, n_types), in the order of `labels`.
    RAISES (ValueError): As for `read_probabilities`, and if the component does not know a type.
    """
    if not len(doc):
        return np.zeros((0, len(labels)))
    tags, p = read_probabilities(doc, name, who)
    begins = _begins(tags, tuple(labels))
    if not begins.any(axis=0).all():
        check_rare_types(labels, [tag[2:] for tag in tags if tag[2:]], who)
    return p @ begins


def check_rare_types(labels: Collection[str], known: Sequence[str], who: str) -> None:
    """Refuse a gate's types that its primary does not know.

    RAISES (ValueError): If one of `labels` is not among the `known` types of the primary.
    """
    if unknown := ", ".join(label for label in labels if label not in known):
        shown = ", ".join(dict.fromkeys(known)) or "none"
        raise ValueError(Errors.L812.format(who=who, unknown=unknown, known=shown))


@lru_cache(maxsize=64)
def _begins(tags: tuple[str, ...], labels: tuple[str, ...]) -> Floats2d:
    """Return 1.0 where a tag begins a mention of a type, else 0.0. (n_tags, n_types)"""
    rows = [[tag[:1] in "BU" and tag[2:] == label for label in labels] for tag in tags]
    return np.array(rows, dtype="float64").reshape(len(tags), len(labels))
