"""Views of documents and examples that pipes and readers train on: sentences, and types left out."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from typing import Literal, Protocol, TypeVar

import numpy as np
from spacy.attrs import ENT_IOB, SENT_START
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.types import Ints1d

from ..types import ANNOTATED_TYPES
from .soft import read_soft, write_soft


class Bounded(Protocol):
    """What begins and ends at a token, as spaCy's spans do."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


Placed = TypeVar("Placed", bound=Bounded)
ENTITY_ATTRIBUTES = ["ENT_IOB", "ENT_TYPE", "ENT_KB_ID", "ENT_ID"]
# of a token by itself, without heads
KEPT_ATTRIBUTES = [*ENTITY_ATTRIBUTES, "SENT_START", "TAG", "POS", "MORPH", "LEMMA"]


def sentence_lengths(doc: Doc) -> Ints1d:
    """Tokens of each sentence; the whole document where no boundary is set. (n_sentences,)"""
    if not len(doc):
        return np.zeros(0, dtype="int64")
    starts = np.flatnonzero(doc.to_array("SENT_START") == 1)
    bounds = np.concatenate([[0], starts[starts > 0], [len(doc)]])
    return np.diff(bounds)


def touched_sentences(doc: Doc, spans: Iterable[Bounded]) -> np.ndarray:
    """Whether a span has a token in each sentence. (n_sentences,)"""
    ends = np.cumsum(sentence_lengths(doc))
    flags = np.zeros(len(ends), dtype=bool)
    for span in spans:
        if span.end > span.start:
            first, last = np.searchsorted(ends, [span.start, span.end - 1], side="right")
            flags[first : last + 1] = True
    return flags


def trim_whitespace(start: Ints1d, end: Ints1d, space: np.ndarray) -> tuple[Ints1d, Ints1d]:
    """Spans without the whitespace tokens at their ends: no entity begins or ends with one.

    start, end (Ints1d): (n_spans,), first token of each span and one past the last.
    space (ndarray): (n_tokens,), whether a token is whitespace.
    RETURNS (Tuple[Ints1d, Ints1d]): (n_spans,) each; start is end where a span holds nothing else.
    """
    words = np.flatnonzero(np.equal(space, 0))
    next_word, last_word = np.append(words, len(space)), np.append(-1, words)
    start = np.minimum(next_word[np.searchsorted(words, start)], end)
    return start, np.maximum(last_word[np.searchsorted(words, end)] + 1, start)


def has_boundaries(doc: Doc) -> bool:
    """Whether sentence boundaries are annotated, even if there are none."""
    return doc.has_annotation("SENT_START")


def is_single(doc: Doc) -> bool:
    """Whether the document is one sentence, as far as its boundaries are set."""
    return not np.count_nonzero(doc.to_array(SENT_START)[1:] == 1)


def split_sentences(eg: Example, make_doc: Callable[[str], Doc] | None = None) -> Iterator[Example]:
    """One example per gold sentence. A boundary inside an entity does not cut it.

    make_doc (Optional[Callable]): The tokenizer, for examples whose tokens are not the gold ones
        and may run across a boundary: it gets the text of each sentence. null takes gold tokens.
    """
    yield from _parts(eg, sentence_bounds(eg.reference), make_doc)


def _parts(
    eg: Example, bounds: list[tuple[int, int]], make_doc: Callable[[str], Doc] | None = None
) -> Iterator[Example]:
    """An example for each part, given by gold tokens."""
    references = cut(eg.reference, bounds)
    if same_tokens(eg):
        yield from map(Example, cut(eg.predicted, bounds), references)
        return
    for reference in references:
        yield Example(bare(reference) if make_doc is None else make_doc(reference.text), reference)


def cut(doc: Doc, bounds: Collection[tuple[int, int]]) -> Iterator[Doc]:
    """Parts of a document as documents, with the annotation that `Span.as_doc` keeps.

    `as_doc` reads the whole document for each part: most of the time where there are many.

    bounds (Collection[Tuple[int, int]]): First token and one past the last of each, ascending, without
        overlap. Heads are kept where none is in another part. An entity that is cut is not annotated.
        Each part keeps which types the document was annotated with, and its tokens' soft targets.
    """
    if not bounds:
        return
    attributes = [*KEPT_ATTRIBUTES, "NORM", "DEP", "HEAD"]
    rows = doc.to_array(attributes)
    annotated, soft = doc.user_data.get(ANNOTATED_TYPES), read_soft(doc)
    place = np.arange(len(doc))
    part = np.searchsorted(np.unique(np.asarray(bounds)), place, side="right")
    for ent in doc.ents:
        if part[ent.start] != part[ent.end - 1]:
            rows[ent.start : ent.end, : len(ENTITY_ATTRIBUTES)] = 0
    if (part[place + rows[:, -1].astype("int32")] != part).any():
        attributes, rows = attributes[:-1], rows[:, :-1]
    for start, end in bounds:
        tokens = doc[start:end]
        words, spaces = [t.text for t in tokens], [bool(t.whitespace_) for t in tokens]
        own = Doc(doc.vocab, words=words, spaces=spaces).from_array(attributes, rows[start:end])
        own.has_unknown_spaces = doc.has_unknown_spaces
        own.tensor = doc.tensor[start:end]
        if annotated is not None:
            own.user_data[ANNOTATED_TYPES] = annotated
        if soft is not None:
            write_soft(own, soft.tags, soft.log_p[start:end])
        yield own


def sentence_bounds(doc: Doc) -> list[tuple[int, int]]:
    """First token, and one past the last, of each sentence. Boundaries inside entities do not count."""
    return _bounds(doc, doc.to_array(SENT_START) == 1)


def _gold_bounds(eg: Example) -> list[tuple[int, int]]:
    """The sentences by gold tokens: as they are annotated, else as the predicted document has them."""
    if has_boundaries(eg.reference):
        return sentence_bounds(eg.reference)
    lengths = sentence_lengths(eg.predicted)
    y2x = eg.alignment.y2x
    first = np.cumsum(y2x.lengths) - y2x.lengths
    sentence = np.zeros(len(eg.reference), dtype="int64")
    aligned = y2x.lengths > 0
    sentence[aligned] = np.repeat(np.arange(len(lengths)), lengths)[y2x.data[first[aligned]]]
    return _bounds(eg.reference, np.diff(np.maximum.accumulate(sentence), prepend=0) > 0)


def _bounds(doc: Doc, begins: np.ndarray) -> list[tuple[int, int]]:
    starts = np.flatnonzero(begins[1:] & (doc.to_array(ENT_IOB)[1:] != 1)) + 1
    return list(pairwise([0, *starts.tolist(), len(doc)])) if len(doc) else []


def bare(doc: Doc, vocab: Vocab | None = None) -> Doc:
    """The words and spaces of a document, without annotation; in another vocabulary if one is given."""
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, words=words, spaces=spaces)


def in_sentences(doc: Doc, vocab: Vocab) -> Doc:
    """The words and spaces of a document in another vocabulary, with its sentence boundaries alone."""
    own = bare(doc, vocab)
    if doc.has_annotation("SENT_START"):
        for token, known in zip(own, doc, strict=True):
            token.is_sent_start = known.is_sent_start
    return own


def gold_entities(eg: Example) -> tuple[Ints1d, Ints1d]:
    """Entity boundaries and types of the gold annotation, on the predicted tokens.

    RETURNS (Tuple[Ints1d, Ints1d]): (n_tokens,) spaCy's codes, 0 no annotation (misaligned tokens too),
        1 inside, 2 outside, 3 begins; (n_tokens,) hashes of the types, 0 outside entities.
    """
    if not same_tokens(eg):
        return _aligned_entities(eg)
    tokens = eg.reference.to_array(["ENT_IOB", "ENT_TYPE", "IS_SPACE"])
    iob, types = tokens[:, 0].astype("int64"), tokens[:, 1]
    if not iob.any():
        return iob, types
    iob[(iob == 3) & (types == 0)] = 0  # blocked tokens
    iob[(iob == 0) & (tokens[:, 2] == 1)] = 2  # as spaCy aligns whitespace
    return iob, types


def _aligned_entities(eg: Example) -> tuple[Ints1d, Ints1d]:
    code = {"B": 3, "U": 3, "I": 1, "L": 1, "O": 2}
    tags = eg.get_aligned_ner()
    iob = [code[tag[0]] if tag else 0 for tag in tags]
    types = [get_string_id(tag[2:]) if tag and tag != "O" else 0 for tag in tags]
    return np.asarray(iob, dtype="int64"), np.asarray(types, dtype="uint64")


def holds(doc: Doc, labels: Collection[str]) -> bool:
    """Whether an entity of one of the types stands in the document."""
    return any(ent.label_ in labels for ent in doc.ents)


def keep_types(eg: Example, labels: Collection[str], others: Literal["O", "missing"] = "O") -> Example:
    """The example with every type outside `labels` annotated as O, or not at all ("missing").

    The original is unchanged.
    """
    left_out = [ent for ent in eg.reference.ents if ent.label_ not in labels]
    if not left_out:
        return eg
    reference = eg.reference.copy()
    kept = [ent for ent in reference.ents if ent.label_ in labels]
    rest = [reference[ent.start : ent.end] for ent in left_out]
    where = {"outside": rest} if others == "O" else {"missing": rest}
    reference.set_ents(kept, **where, default="unmodified")
    return Example(eg.predicted, reference)


def same_tokens(eg: Example) -> bool:
    """Whether both sides have the same words, as with gold tokens."""
    return np.array_equal(eg.predicted.to_array("ORTH"), eg.reference.to_array("ORTH"))


def take_tokens(doc: Doc, kept: Ints1d) -> Doc:
    """A document of some of the tokens, with their entities, tags and lemmas.

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
    return taken.from_array(KEPT_ATTRIBUTES, rows)


def sentences_with(examples: Iterable[Example], labels: Collection[str]) -> list[Example]:
    """One example for each gold sentence that holds a type of `labels`.

    Where no gold boundaries are annotated, the sentences are those of the predicted document.
    """
    found: list[Example] = []
    for eg in examples:
        starts = [ent.start for ent in eg.reference.ents if ent.label_ in labels]
        if starts:
            bounds = _gold_bounds(eg)
            holding = np.unique(np.searchsorted([end for _, end in bounds], starts, side="right"))
            found.extend(_parts(eg, [bounds[i] for i in holding.tolist()]))
    return found


def entity_sentences(eg: Example, *, gold: bool = False) -> Iterator[tuple[Span, Ints1d]]:
    """Gold entities with the indices of the sentences that they stand in.

    gold (bool): Whether the sentences are the gold ones, where an entity is in that of its first token;
        else those of the predicted document.
    """
    ends = np.cumsum(sentence_lengths(eg.reference if gold else eg.predicted))
    for ent in eg.reference.ents:
        tokens = [ent.start] if gold else eg.alignment.y2x[ent.start : ent.end]
        yield ent, np.unique(np.searchsorted(ends, tokens, side="right"))


def flagged_sentences(eg: Example, labels: Collection[str]) -> np.ndarray:
    """Whether a gold entity of one of the types stands in each predicted sentence. (n_sentences,)"""
    flags = np.zeros(len(sentence_lengths(eg.predicted)), dtype=bool)
    if holds(eg.reference, labels):
        for ent, sentences in entity_sentences(eg):
            if ent.label_ in labels:
                flags[sentences] = True
    return flags


def annotated_sentences(eg: Example, flags: np.ndarray) -> np.ndarray:
    """Whether it is known of each predicted sentence if a type stands in it. (n_sentences,)

    flags (ndarray): (n_sentences,), `flagged_sentences` of the types: one that is flagged is known,
        and so is one with an annotated token.
    """
    missing = eg.reference.to_array("ENT_IOB") == 0
    if not missing.any():
        return np.ones(len(flags), dtype=bool)
    lengths, y2x = sentence_lengths(eg.predicted), eg.alignment.y2x
    tokens = y2x.data[np.repeat(missing, y2x.lengths)]
    at = np.searchsorted(np.cumsum(lengths), tokens, side="right")
    return (np.bincount(at, minlength=len(lengths)) < lengths) | flags


def on_gold_tokens(eg: Example, spans: Iterable[Placed]) -> Iterator[tuple[Placed, int, int]]:
    """Predicted spans with their first gold token and one past the last.

    Left out are those that align with no gold token, or touch one without annotation: it is unknown
    whether they are right.
    """
    x2y = eg.alignment.x2y
    unannotated = eg.reference.to_array("ENT_IOB") == 0
    for span in spans:
        tokens = x2y[span.start : span.end]
        if len(tokens):
            start, end = int(tokens[0]), int(tokens[-1]) + 1
            if not unannotated[start:end].any():
                yield span, start, end
