"""The parts of a document that a gate has opened."""

from collections.abc import Iterable, Iterator

import numpy as np
from spacy.tokens import Doc

from ..errors import Errors
from .scores import ScoredSpan


def flagged_parts(doc: Doc, key: str | None, who: str) -> list[tuple[int, int]]:
    """First token and one past the last of each part to look at.

    key (Optional[str]): Key in doc.spans of the flagged sentences, of which those that overlap are one
        part; null is a whole document.
    who (str): The component that looks.
    RAISES (ValueError): L254 for a document that no gate has seen.
    """
    if key is None:
        return [(0, len(doc))] if len(doc) else []
    if key not in doc.spans:
        raise ValueError(Errors.L254.format(who=who, key=key))
    parts: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in doc.spans[key] if len(span)):
        if parts and start < parts[-1][1]:
            start, last = parts.pop()
            end = max(end, last)
        parts.append((start, end))
    return parts


def within(ents: Iterable[ScoredSpan], parts: list[tuple[int, int]]) -> Iterator[ScoredSpan]:
    """The entities that stand in one of the parts as a whole."""
    starts, ends = np.asarray(parts).T
    for ent in ents:
        at = np.searchsorted(starts, ent.start, side="right") - 1
        if at >= 0 and ent.end <= ends[at]:
            yield ent
