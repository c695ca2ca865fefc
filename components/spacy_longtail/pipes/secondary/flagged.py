"""Flagged sentences as documents of their own, and what a secondary found in them, merged."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...corpus.cutting import cut
from ...corpus.examples import trim_whitespace
from ..gate.weak_sentences import Parts
from ..scores.merging import Merging, merge_into, remove_from
from ..scores.spans import ScoredSpan, read_scores, write_scores

UNSCORED = math.nan  # the score of an entity that has none


class Place(NamedTuple):
    doc: int  # index of the document
    start: int  # first token
    end: int  # one past the last


def places_of(flagged: Iterable[Parts]) -> list[Place]:
    """Where the flagged parts of documents stand, in their order."""
    return [Place(i, *part) for i, parts in enumerate(flagged) for part in parts]


def cut_flagged(docs: Sequence[Doc], flagged: Iterable[Parts]) -> list[Doc]:
    """The flagged parts as documents of their own, in the order of `places_of`."""
    return [part for doc, parts in zip(docs, flagged, strict=True) for part in cut(doc, parts)]


def placed(
    found: Iterable[Iterable[ScoredSpan]], places: Iterable[Place], n_docs: int
) -> list[list[ScoredSpan]]:
    """Entities of parts as the secondary's entities of their documents.

    found (Iterable[Iterable[ScoredSpan]]): By part, tokens counted from its first.
    """
    by_doc: list[list[ScoredSpan]] = [[] for _ in range(n_docs)]
    for (i, a, _), ents in zip(places, found, strict=True):
        by_doc[i].extend(e._replace(start=e.start + a, end=e.end + a, weak=True) for e in ents)
    return by_doc


def merge_found(doc: Doc, weak: list[ScoredSpan], settings: Merging) -> None:
    """Merge the secondary's entities into doc.ents; the key of scores is written in any case."""
    if weak:
        merge_into(doc, weak, settings)
    key = settings.scores_key
    if key is not None and key not in doc.spans:
        write_scores(doc, key, [])


def found_in(sentence: Doc, key: str | None) -> Iterator[ScoredSpan]:
    """The entities of a sentence that a component has read, without whitespace at their ends.

    key (Optional[str]): Key in doc.spans of the scores; an entity without one has the score nan.
    """
    if not sentence.ents:
        return
    known = read_scores(sentence, key)
    bounds = np.array([(ent.start, ent.end) for ent in sentence.ents])
    starts, ends = trim_whitespace(bounds[:, 0], bounds[:, 1], sentence.to_array("IS_SPACE"))
    for ent, start, end in zip(sentence.ents, starts.tolist(), ends.tolist(), strict=True):
        rated = known.get((ent.start, ent.end, ent.label_))
        if rated is not None and (start, end) == rated.place[:2]:
            yield rated
        elif start < end:
            yield ScoredSpan(start, end, ent.label_, UNSCORED if rated is None else rated.score, ())


def problem_of_scores(ent: ScoredSpan) -> str:
    """What is wrong with the scores that a component gave an entity, in words; "" for nothing."""
    n_tokens, n_scores = ent.end - ent.start, len(ent.token_scores)
    if n_scores not in (0, n_tokens):
        return f"an entity has {n_tokens} tokens, and scores of {n_scores}"
    wrong = [score for score in (ent.score, *ent.token_scores) if score < 0 or score > 1]
    return f"an entity has the score {wrong[0]:g}, which is not from 0 to 1" if wrong else ""


class Found(NamedTuple):
    """What a secondary found in a document."""

    entities: list[ScoredSpan]
    parts: Parts  # the sentences that it has read: it may have failed on others


def replace_within(doc: Doc, found: Found, types: Collection[str] | None, settings: Merging) -> None:
    """Put the secondary's entities in the place of the primary's, in the sentences that it has read.

    What the primary has there of the types that the secondary may set goes, and what overlaps an entity
    of the secondary's. An entity that both have, or that reaches out of these sentences, stays.

    types (Optional[Collection[str]]): Those that the secondary may set; null is all.
    """
    own = {ent.place for ent in found.entities}
    taken = {i for ent in found.entities for i in range(ent.start, ent.end)}
    inside = {i: part for part in found.parts for i in range(*part)}
    going = [
        ent
        for ent in doc.ents
        if inside.get(ent.start, 0) == inside.get(ent.end - 1)
        and (ent.start, ent.end, ent.label_) not in own
        and (types is None or ent.label_ in types or not taken.isdisjoint(range(ent.start, ent.end)))
    ]
    remove_from(doc, going, settings.scores_key)
    merge_by_score(doc, found.entities, settings._replace(merge="fill"))


def merge_by_score(doc: Doc, weak: list[ScoredSpan], settings: Merging) -> None:
    """Merge the entities that have a score, then fill in those without."""
    merge_found(doc, [ent for ent in weak if math.isfinite(ent.score)], settings)
    rest = [ent for ent in weak if not math.isfinite(ent.score)]
    merge_found(doc, rest, settings._replace(merge="fill"))
