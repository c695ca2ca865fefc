"""Documents made of documents: parts, some of the tokens, the words alone."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.types import Ints1d

from ..types import ANNOTATED_TYPES, INCORRECT_SPANS
from .counts import entity_bounds
from .sentences import sentence_bounds, sentence_lengths
from .soft import SOFT, read_soft, write_soft

ENTITY_ATTRIBUTES: list[int | str] = ["ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID"]
# of a token by itself, without heads
KEPT_ATTRIBUTES: list[int | str] = [*ENTITY_ATTRIBUTES, "SENT_START", "TAG", "POS", "MORPH", "LEMMA"]


def cut(doc: Doc, bounds: Collection[tuple[int, int]]) -> Iterator[Doc]:
    """Parts of a document as documents, with the annotation that `Span.as_doc` keeps.

    `as_doc` reads the whole document for each part: most of the time where there are many.

    bounds (Collection[Tuple[int, int]]): First token and one past the last of each, ascending, without
        overlap. Heads are kept where none is in another part. An entity that is cut is not annotated.
        Each part keeps the document's user_data, what it says of the part's own tokens, and the
        incorrect spans there.
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
    incorrect: defaultdict[int, list[Span]] = defaultdict(list)
    for span in doc.spans.get(INCORRECT_SPANS, ()):
        if part[span.start] == part[span.end - 1]:
            incorrect[part[span.start]].append(span)
    for (start, end), user_data in zip(bounds, _user_data(doc, bounds), strict=True):
        own = Doc(doc.vocab, *_words(doc[start:end]), user_data=user_data)
        own.from_array(attributes, rows[start:end])
        own.has_unknown_spaces = doc.has_unknown_spaces
        own.tensor = doc.tensor[start:end]
        if INCORRECT_SPANS in doc.spans:
            own.spans[INCORRECT_SPANS] = [
                Span(own, span.start - start, span.end - start, label=span.label)
                for span in incorrect[part[start]]
            ]
        if soft is not None:
            write_soft(own, soft.tags, soft.log_p[start:end])
        yield own


def sentence_docs(doc: Doc) -> Iterator[Doc]:
    """The sentences of a document as documents. A document of one sentence stays itself."""
    bounds = sentence_bounds(doc)
    return cut(doc, bounds) if len(bounds) > 1 else iter([doc])


def _user_data(doc: Doc, bounds: Collection[tuple[int, int]]) -> list[dict[Any, Any]]:
    """The user_data of each part. spaCy's extensions of tokens and spans stand there by character."""
    known: dict[Any, Any] = doc.user_data
    starts = [doc[start].idx for start, _ in bounds]
    ends = [doc[start:end].end_char for start, end in bounds]
    parts: list[dict[Any, Any]] = [{} for _ in bounds]
    for key, value in known.items():
        if not (isinstance(key, tuple) and key[0] == "._." and key[2] is not None):
            for part in parts if key != SOFT else ():
                part[key] = value
            continue
        mark, name, start, end = key
        i = bisect_right(starts, start) - 1
        if i >= 0 and max(start + 1, end or 0) <= ends[i]:
            stop = None if end is None else end - starts[i]
            parts[i][mark, name, start - starts[i], stop] = value
    return parts


def take_tokens(doc: Doc, kept: Ints1d) -> Doc:
    """A document of some of the tokens, with their entities, tags, lemmas and soft targets.

    kept (Ints1d): (n_kept,) ascending; entities are expected whole.
    RETURNS (Doc): The first kept token of each sentence begins it; boundaries that are unknown stay so.
    """
    words = [doc[int(i)].text for i in kept]
    spaces = None if doc.has_unknown_spaces else [bool(doc[int(i)].whitespace_) for i in kept]
    taken = Doc(doc.vocab, words=words, spaces=spaces)
    rows = doc.to_array(KEPT_ATTRIBUTES)[kept]
    if doc.has_annotation("SENT_START"):
        lengths = sentence_lengths(doc)
        sentence = np.repeat(np.arange(len(lengths)), lengths)[kept]
        begins = np.diff(sentence, prepend=-1) > 0
        rows[:, KEPT_ATTRIBUTES.index("SENT_START")] = np.where(begins, 1, -1).astype("uint64")
    if ANNOTATED_TYPES in doc.user_data:
        taken.user_data[ANNOTATED_TYPES] = doc.user_data[ANNOTATED_TYPES]
    if (soft := read_soft(doc)) is not None:
        write_soft(taken, soft.tags, soft.log_p[kept])
    return taken.from_array(KEPT_ATTRIBUTES, rows)


def bare(doc: Doc, vocab: Vocab | None = None) -> Doc:
    """The words and spaces of a document, without annotation; in another vocabulary if one is given."""
    return Doc(doc.vocab if vocab is None else vocab, *_words(doc))


def _words(tokens: Doc | Span) -> tuple[list[str], list[bool]]:
    return [token.text for token in tokens], [bool(token.whitespace_) for token in tokens]


def in_sentences(doc: Doc, vocab: Vocab) -> Doc:
    """The words and spaces of a document in another vocabulary, with its sentence boundaries alone."""
    own = bare(doc, vocab)
    if doc.has_annotation("SENT_START"):
        for token, known in zip(own, doc, strict=True):
            token.is_sent_start = known.is_sent_start
    return own
