"""New documents from a document: its parts, some of its tokens, or only its words."""

from collections.abc import Collection, Iterator

import numpy as np
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab
from thinc.types import Ints1d

from ..sentences import sentence_bounds, sentence_lengths
from ..types import ANNOTATED_TYPES, TOKEN_PROBABILITIES
from .counts import entity_bounds
from .soft import SOFT, read_soft, write_soft

ENTITY_ATTRIBUTES: list[int | str] = ["ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID"]
BY_TOKEN = (SOFT, TOKEN_PROBABILITIES)  # in user_data, with a row for each token
# of a token by itself, without heads
KEPT_ATTRIBUTES: list[int | str] = [*ENTITY_ATTRIBUTES, "SENT_START", "TAG", "POS", "MORPH", "LEMMA"]


def cut(doc: Doc, bounds: Collection[tuple[int, int]]) -> Iterator[Doc]:
    """Yield parts of a document as documents, with the annotation that `Span.as_doc` keeps.

    `as_doc` reads the whole document for each part, which is slow for many parts.

    bounds (Collection[Tuple[int, int]]): First token and one past the last of each, ascending,
        without overlap. Heads are kept where none is in another part. An entity that is cut is not
        annotated. Each part keeps the document's user_data.
    """
    if not bounds:
        return
    attributes = [*KEPT_ATTRIBUTES, "NORM", "DEP", "HEAD"]
    rows, soft, place = doc.to_array(attributes), read_soft(doc), np.arange(len(doc))
    part = np.searchsorted(np.unique(np.asarray(bounds)), place, side="right")
    for first, last, _ in entity_bounds(doc):
        if part[first] != part[last - 1]:
            rows[first:last, : len(ENTITY_ATTRIBUTES)] = 0
    if (part[place + rows[:, -1].astype("int32")] != part).any():
        attributes, rows = attributes[:-1], rows[:, :-1]
    # without the values that spaCy's extensions store for single tokens and spans, by character
    about = {k: v for k, v in doc.user_data.items() if k not in BY_TOKEN and not _has_place(k)}
    for start, end in bounds:
        piece = Doc(doc.vocab, *words_and_spaces(doc[start:end]), user_data=dict(about))
        piece.from_array(attributes, rows[start:end])
        piece.has_unknown_spaces = doc.has_unknown_spaces
        piece.tensor = doc.tensor[start:end]
        if soft is not None:
            write_soft(piece, soft.tags, soft.log_p[start:end])
        yield piece


def sentence_docs(doc: Doc) -> Iterator[Doc]:
    """Return the sentences of a document as documents; a document of one sentence stays itself."""
    bounds = sentence_bounds(doc)
    return cut(doc, bounds) if len(bounds) > 1 else iter([doc])


def _has_place(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 4 and key[0] == "._." and key[2] is not None


def take_tokens(doc: Doc, kept: Ints1d) -> Doc:
    """Return a document of some tokens, with their entities, tags, lemmas and soft targets.

    doc (Doc): The document.
    kept (Ints1d): Indices of the tokens, ascending, with all tokens of an entity or none; shape
        (n_kept,).
    RETURNS (Doc): The document. The first kept token of each sentence begins it, and unknown
        boundaries stay unknown.
    """
    words, spaces = words_and_spaces([doc[int(i)] for i in kept])
    taken = Doc(doc.vocab, words=words, spaces=None if doc.has_unknown_spaces else spaces)
    rows = doc.to_array(KEPT_ATTRIBUTES)[kept]
    if doc.has_annotation("SENT_START"):
        lengths = sentence_lengths(doc)
        begins = np.diff(np.repeat(np.arange(len(lengths)), lengths)[kept], prepend=-1) > 0
        rows[:, KEPT_ATTRIBUTES.index("SENT_START")] = np.where(begins, 1, -1).astype("uint64")
    if ANNOTATED_TYPES in doc.user_data:
        taken.user_data[ANNOTATED_TYPES] = doc.user_data[ANNOTATED_TYPES]
    if (soft := read_soft(doc)) is not None:
        write_soft(taken, soft.tags, soft.log_p[kept])
    return taken.from_array(KEPT_ATTRIBUTES, rows)


def bare(doc: Doc, vocab: Vocab | None = None) -> Doc:
    """Return a document with only words and spaces, in another vocabulary if one is given."""
    return Doc(doc.vocab if vocab is None else vocab, *words_and_spaces(doc))


def words_and_spaces(tokens: Doc | Span | list[Token]) -> tuple[list[str], list[bool]]:
    """Return the text of each token, and whether a blank follows it."""
    return [token.text for token in tokens], [bool(token.whitespace_) for token in tokens]
