"""What a secondary reads and gives: flagged sentences as documents of their own, and their entities merged."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spacy.tokens import Doc

from ..corpus.examples import cut
from .merging import Merging, merge_into
from .scores import ScoredSpan, write_scores
from .weak_sentences import Parts


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
    """Merge the secondary's entities into doc.ents; the key of scores is written where nothing is found, too."""
    if weak:
        merge_into(doc, weak, settings)
    key = settings.scores_key
    if key is not None and key not in doc.spans:
        write_scores(doc, key, [])
