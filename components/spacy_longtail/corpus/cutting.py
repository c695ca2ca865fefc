"""New documents from a document, and the soft targets of its tokens: a teacher's probabilities."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab
from thinc.types import Floats2d, Ints1d

from ..errors import Errors
from ..sentences import sentence_bounds, sentence_lengths
from ..types import ANNOTATED_TYPES, TOKEN_PROBABILITIES
from .counts import entity_bounds

SOFT = "soft_tags"  # key in Doc.user_data
MIN_LOG_P = -60000.0  # log probability of an impossible tag, within float16
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


class SoftTags(NamedTuple):
    tags: list[str]  # of the columns, O first
    log_p: Floats2d  # (n_tokens, n_tags), log probabilities


def write_soft(doc: Doc, tags: Sequence[str], log_p: Floats2d) -> None:
    """Store the distributions in Doc.user_data, as bytes of float16, which msgpack stores as is.

    doc (Doc): The document.
    tags (Sequence[str]): Tags of the columns.
    log_p (Floats2d): Log probabilities, shape (n_tokens, n_tags). Their float16 is more precise for
        small probabilities than that of the probabilities themselves.
    """
    rows = np.maximum(log_p, MIN_LOG_P).astype("float16")
    doc.user_data[SOFT] = {"tags": list(tags), "log_p": rows.tobytes()}


def read_soft(doc: Doc) -> SoftTags | None:
    """Return the soft targets of a document, or None if it has none.

    RAISES (ValueError): If their number does not fit the tokens (L745).
    """
    kept = doc.user_data.get(SOFT)
    if kept is None:
        return None
    tags = list(kept["tags"])
    log_p = np.frombuffer(kept["log_p"], dtype="float16")
    wanted = len(doc) * len(tags)
    if log_p.size != wanted:
        raise ValueError(
            Errors.L745.format(
                text=doc[:5].text, n=log_p.size, tokens=len(doc), tags=len(tags), wanted=wanted
            )
        )
    return SoftTags(tags, log_p.reshape(len(doc), len(tags)).astype("float32"))
