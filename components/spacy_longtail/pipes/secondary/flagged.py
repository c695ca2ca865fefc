"""Flagged sentences as documents, and merging of a secondary's entities into the whole document."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from json import JSONDecodeError
from typing import NamedTuple

from pydantic import ValidationError
from spacy.tokens import Doc

from ...corpus.cutting import cut
from ...faults import is_coded, is_out_of_memory, raised_in
from ..gate.flagging import Parts
from ..scores.merging import merge_into, remove_from, without_space
from ..scores.spans import ScoredSpan, read_scores, write_scores


class UnusableError(ValueError):
    """Error for an output of a secondary that cannot be merged."""


def is_failure(error: Exception) -> bool:
    """Return whether an error is a missing answer, a full memory or an unusable output."""
    return (
        isinstance(error, (OSError, JSONDecodeError, ValidationError, UnusableError))  # timeouts, too
        or is_coded(error)
        or is_out_of_memory(error)
        or raised_in(error).startswith("spacy_llm.")  # it refuses answers with builtin errors
    )


class FlaggedPart(NamedTuple):
    doc: int  # index of the document
    start: int  # first token
    end: int  # one past the last


def places_of(flagged: Iterable[Parts]) -> list[FlaggedPart]:
    """Return the positions of the flagged parts of documents in their order."""
    return [FlaggedPart(i, *part) for i, parts in enumerate(flagged) for part in parts]


def cut_flagged(docs: Sequence[Doc], places: Iterable[FlaggedPart]) -> list[Doc]:
    """Return the flagged parts as documents in their order."""
    by_doc = groupby(places, lambda place: place.doc)
    return [part for i, bounds in by_doc for part in cut(docs[i], [(a, b) for _, a, b in bounds])]


def in_document(ents: Iterable[ScoredSpan], place: FlaggedPart) -> Iterator[ScoredSpan]:
    """Yield the entities of a part as the secondary's entities of its document."""
    shift = place.start
    return (e._replace(start=e.start + shift, end=e.end + shift, is_secondary=True) for e in ents)


def found_in(sentence: Doc, key: str | None) -> list[ScoredSpan]:
    """Return a component's entities without whitespace at their ends; nan means no score.

    RAISES (UnusableError): If scores are not from 0 to 1, or do not match the tokens.
    """
    rated = read_scores(sentence, key)
    places = [(ent.start, ent.end, ent.label_) for ent in sentence.ents]
    spans = [rated.get(place, ScoredSpan(*place, math.nan, ())) for place in places]
    for span in spans:
        n_tokens, n_scores = span.end - span.start, len(span.token_scores)
        if n_scores not in (0, n_tokens):
            raise UnusableError(f"an entity has {n_tokens} tokens, and scores of {n_scores}")
        if wrong := [p for p in (span.score, *span.token_scores) if p < 0 or p > 1]:
            raise UnusableError(f"an entity has the score {wrong[0]:g}, which is not from 0 to 1")
    return without_space(spans, sentence.to_array("IS_SPACE"))


class Found(NamedTuple):
    """Output of a secondary for a document."""

    entities: list[ScoredSpan]
    parts: Parts  # the sentences that it has read: it may have failed on others


def replace_within(doc: Doc, reading: Found, types: Collection[str] | None, key: str | None) -> None:
    """Replace the primary's entities by the secondary's in the sentences that it has processed.

    The primary's entities of types that the secondary may set are removed there, and those that
    overlap one of the secondary's. Entities that both have, or that cross the boundary of such a
    sentence, stay.
    """
    places = {ent.place for ent in reading.entities}
    taken = {i for ent in reading.entities for i in range(ent.start, ent.end)}
    inside = {i: part for part in reading.parts for i in range(*part)}
    removed = [
        ent
        for ent in doc.ents
        if (part := inside.get(ent.start)) is not None
        and part == inside.get(ent.end - 1)
        and (ent.start, ent.end, ent.label_) not in places
        and (types is None or ent.label_ in types or not taken.isdisjoint(range(ent.start, ent.end)))
    ]
    remove_from(doc, removed, key)
    merge_by_score(doc, reading.entities, "fill", key)


def merge_by_score(doc: Doc, secondary: list[ScoredSpan], merge: str, key: str | None) -> None:
    """Merge entities with a score, then fill in those without; write the key of scores anyway."""
    merge_into(doc, [ent for ent in secondary if math.isfinite(ent.score)], merge, key)
    merge_into(doc, [ent for ent in secondary if not math.isfinite(ent.score)], "fill", key)
    if key is not None and key not in doc.spans:
        write_scores(doc, key, [])
