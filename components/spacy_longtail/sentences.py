"""Sentences of a document: their lengths and bounds, and which of them spans touch."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol
from unicodedata import normalize

import numpy as np
from spacy.attrs import ENT_IOB, SENT_START
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc
from thinc.types import Floats2d, Ints1d

# soft hyphens, joiners, marks of direction and of byte order
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


class Bounded(Protocol):
    """Protocol of objects that have a first token and an end, as spaCy's spans."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def sentence_lengths(doc: Doc) -> Ints1d:
    """Return the number of tokens of each sentence, shape (n_sentences,).

    A document without boundaries is one sentence.
    """
    if not len(doc):
        return np.zeros(0, dtype="int64")
    starts = np.flatnonzero(doc.to_array("SENT_START") == 1)
    return np.diff(np.concatenate([[0], starts[starts > 0], [len(doc)]]))


def sums_by_sentence(docs: Sequence[Doc], rows: Floats2d) -> Floats2d:
    """Return the sum of the rows of each sentence's tokens.

    docs (Sequence[Doc]): The documents.
    rows (Floats2d): Rows of the tokens of all documents, shape (n_tokens, n).
    RETURNS (Floats2d): Sums of the sentences of all documents, shape (n_sentences, n).
    """
    lengths = np.concatenate([np.zeros(0, dtype="int64"), *map(sentence_lengths, docs)])
    return np.add.reduceat(rows, np.cumsum(lengths) - lengths, axis=0) if len(lengths) else rows[:0]


def touched_sentences(doc: Doc, spans: Iterable[Bounded]) -> np.ndarray:
    """Return whether any span has a token in each sentence, shape (n_sentences,)."""
    ends = np.cumsum(sentence_lengths(doc))
    flags = np.zeros(len(ends), dtype=bool)
    for span in spans:
        if span.end > span.start:
            first, last = np.searchsorted(ends, [span.start, span.end - 1], side="right")
            flags[first : last + 1] = True
    return flags


def visible_text(text: str) -> str:
    """Return the visible characters of a text, by which texts are compared.

    White space and characters that nobody sees, such as soft hyphens, are removed. Accents are
    joined to their letters (NFC), since some files write them as characters of their own.
    """
    if not text.isascii():
        text = normalize("NFC", INVISIBLE.sub("", text))
    return "".join(text.split())


def plain_text(text: str) -> str:
    """Return a text as duplicates are compared: its visible characters, in lower case."""
    return visible_text(text).casefold()


def by_punctuation(docs: Iterable[Doc]) -> list[Doc]:
    """Copy documents, and split the copies into sentences with spaCy's Sentencizer."""
    rules = Sentencizer(overwrite=True)
    return [rules(doc.copy()) for doc in docs]


def has_boundaries(doc: Doc) -> bool:
    """Return whether sentence boundaries are annotated, even if there are none."""
    return doc.has_annotation("SENT_START")


def sentence_bounds(doc: Doc) -> list[tuple[int, int]]:
    """Return first token and end of each sentence. Boundaries inside entities are ignored."""
    return bounds_at(doc, doc.to_array(SENT_START) == 1)


def all_bounds(doc: Doc) -> list[tuple[int, int]]:
    """Return first token and end of each sentence. Boundaries may cut entities."""
    return list(pairwise([0, *np.cumsum(sentence_lengths(doc)).tolist()]))


def bounds_at(doc: Doc, begins: np.ndarray) -> list[tuple[int, int]]:
    """Return first token and end of each part. No part begins inside an entity.

    doc (Doc): The document.
    begins (ndarray): Whether a part begins at each token, shape (n_tokens,).
    """
    starts = np.flatnonzero(begins[1:] & (doc.to_array(ENT_IOB)[1:] != 1)) + 1
    return list(pairwise([0, *starts.tolist(), len(doc)])) if len(doc) else []
