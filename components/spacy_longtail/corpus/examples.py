"""Views of examples, for training and scoring: their sentences, entities and types."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.types import Ints1d

from ..errors import Warnings
from ..sentences import Bounded, bounds_at, has_boundaries, sentence_bounds, sentence_lengths
from ..types import ANNOTATED_TYPES
from .counts import BEGINS, INSIDE, MISSING, OUTSIDE
from .cutting import bare, cut

Reader = Callable[[Language], Iterable[Example]]
Placed = TypeVar("Placed", bound=Bounded)


def warn_of_document_annotation(eg: Example) -> None:
    """Warn that annotation of a document, such as cats, is lost when it is cut or rewritten."""
    if eg.reference.cats or any(eg.reference.spans.values()):
        warnings.warn(Warnings.W015, stacklevel=2)


def split_sentences(
    eg: Example,
    make_doc: Callable[[str], Doc] | None = None,
    bounds: list[tuple[int, int]] | None = None,
) -> Iterator[Example]:
    """Yield one example per gold sentence. A boundary inside an entity does not cut it.

    make_doc (Optional[Callable]): Tokenizer for examples whose predicted tokens differ from the
        gold ones and may cross a boundary. It gets the text of each sentence. null takes the gold
        tokens.
    bounds (Optional[List[Tuple[int, int]]]): First gold token and one past the last of each
        sentence to yield; null yields all sentences.
    """
    if bounds is None:
        bounds = sentence_bounds(eg.reference)
    references = cut(eg.reference, bounds)
    if same_tokens(eg):
        return map(Example, cut(eg.predicted, bounds), references)
    return (Example(make_doc(part.text) if make_doc else bare(part), part) for part in references)


def _gold_bounds(eg: Example) -> list[tuple[int, int]]:
    """Return the bounds of the sentences in gold tokens: annotated ones, else predicted ones."""
    if has_boundaries(eg.reference):
        return sentence_bounds(eg.reference)
    lengths = sentence_lengths(eg.predicted)
    y2x = eg.alignment.y2x
    first = np.cumsum(y2x.lengths) - y2x.lengths
    sentence = np.zeros(len(eg.reference), dtype="int64")
    aligned = y2x.lengths > 0
    sentence[aligned] = np.repeat(np.arange(len(lengths)), lengths)[y2x.data[first[aligned]]]
    return bounds_at(eg.reference, np.diff(np.maximum.accumulate(sentence), prepend=0) > 0)


def gold_entities(eg: Example) -> tuple[Ints1d, Ints1d]:
    """Return entity boundaries and types of the gold annotation, on the predicted tokens.

    RETURNS (Tuple[Ints1d, Ints1d]): spaCy's codes: 0 for no annotation or a misaligned token, 1
        inside, 2 outside, 3 begins; and hashes of the types, 0 outside entities. Both have shape
        (n_tokens,).
    """
    if not same_tokens(eg):
        code = {"B": BEGINS, "U": BEGINS, "I": INSIDE, "L": INSIDE, "O": OUTSIDE}
        tags = [(tag or "-").partition("-") for tag in eg.get_aligned_ner()]
        iob = [code.get(prefix, MISSING) for prefix, *_ in tags]
        labels = [get_string_id(label) if label else 0 for *_, label in tags]
        return np.asarray(iob, dtype="int64"), np.asarray(labels, dtype="uint64")
    tokens = eg.reference.to_array(["ENT_IOB", "ENT_TYPE", "IS_SPACE"])
    iob, types = tokens[:, 0].astype("int64"), tokens[:, 1]
    if iob.any():
        iob[(iob == BEGINS) & (types == 0)] = MISSING  # blocked tokens
        iob[(iob == MISSING) & (tokens[:, 2] == 1)] = OUTSIDE  # as spaCy aligns whitespace
    return iob, types


def keep_types(eg: Example, labels: Collection[str]) -> Example:
    """Return the example with every type outside `labels` annotated as O, in a copy."""
    left_out = [ent for ent in eg.reference.ents if ent.label_ not in labels]
    if not left_out:
        return eg
    reference = eg.reference.copy()
    kept = [ent for ent in reference.ents if ent.label_ in labels]
    outside = [reference[ent.start : ent.end] for ent in left_out]
    reference.set_ents(kept, outside=outside, default="unmodified")
    return Example(eg.predicted, reference)


def same_tokens(eg: Example) -> bool:
    """Return whether the predicted tokens are the gold tokens."""
    return np.array_equal(eg.predicted.to_array("ORTH"), eg.reference.to_array("ORTH"))


def sentences_with(examples: Iterable[Example], labels: Collection[str]) -> list[Example]:
    """Return one example for each gold sentence with a type of `labels`.

    Where no gold boundaries are annotated, the sentences are those of the predicted document.
    """
    parts: list[Example] = []
    for eg in examples:
        starts = [ent.start for ent in eg.reference.ents if ent.label_ in labels]
        if starts:
            bounds = _gold_bounds(eg)
            holding = np.unique(np.searchsorted([end for _, end in bounds], starts, side="right"))
            parts.extend(split_sentences(eg, bounds=[bounds[i] for i in holding.tolist()]))
    return parts


def entity_sentences(eg: Example, *, gold: bool = False) -> Iterator[tuple[Span, Ints1d]]:
    """Yield gold entities with the indices of their sentences.

    gold (bool): Whether to use the gold sentences, where an entity belongs to the sentence of its
        first token. Otherwise the sentences of the predicted document are used.
    """
    ends = np.cumsum(sentence_lengths(eg.reference if gold else eg.predicted))
    for ent in eg.reference.ents:
        tokens = [ent.start] if gold else eg.alignment.y2x[ent.start : ent.end]
        yield ent, np.unique(np.searchsorted(ends, tokens, side="right"))


def flagged_sentences(eg: Example, labels: Collection[str]) -> np.ndarray:
    """Return whether each predicted sentence has a gold entity of these types. (n_sentences,)"""
    flags = np.zeros(len(sentence_lengths(eg.predicted)), dtype=bool)
    if any(ent.label_ in labels for ent in eg.reference.ents):  # else it need not be aligned
        for ent, sentences in entity_sentences(eg):
            if ent.label_ in labels:
                flags[sentences] = True
    return flags


def is_annotated(doc: Doc, labels: Collection[str]) -> bool:
    """Return whether all of these types were annotated in a gold document, as far as it says.

    A type with a mention in the document was annotated there, whatever the document declares.
    """
    declared = doc.user_data.get(ANNOTATED_TYPES)
    return declared is None or {*labels} <= {*declared, *(ent.label_ for ent in doc.ents)}


def annotated_sentences(
    eg: Example, flags: np.ndarray, labels: Collection[str], *, gold: bool = False
) -> np.ndarray:
    """Return whether the annotation says of each sentence whether it has one of the types.

    eg (Example): The example.
    flags (ndarray): `flagged_sentences` of the types, shape (n_sentences,). The annotation says it
        of every flagged sentence, and of every sentence with an annotated token if all types were
        annotated in the document.
    labels (Collection[str]): The types.
    gold (bool): Whether the sentences are the gold ones, or else those of the predicted document.
    RETURNS (ndarray): Whether it says so, shape (n_sentences,).
    """
    if not is_annotated(eg.reference, labels):
        return flags.copy()
    missing = eg.reference.to_array("ENT_IOB") == MISSING
    if not missing.any():
        return np.ones(len(flags), dtype=bool)
    lengths, y2x = sentence_lengths(eg.reference if gold else eg.predicted), eg.alignment.y2x
    tokens = np.flatnonzero(missing) if gold else y2x.data[np.repeat(missing, y2x.lengths)]
    at = np.searchsorted(np.cumsum(lengths), tokens, side="right")
    return (np.bincount(at, minlength=len(lengths)) < lengths) | flags


def on_gold_tokens(eg: Example, spans: Iterable[Placed]) -> Iterator[tuple[Placed, int, int]]:
    """Yield predicted spans with their first gold token and one past the last.

    Spans that align with no gold token, or touch one without annotation, are skipped: it is unknown
    whether they are right.
    """
    x2y = eg.alignment.x2y
    unannotated = eg.reference.to_array("ENT_IOB") == MISSING
    for span in spans:
        tokens = x2y[span.start : span.end]
        if len(tokens):
            start, end = int(tokens[0]), int(tokens[-1]) + 1
            if not unannotated[start:end].any():
                yield span, start, end


def trim_whitespace(start: Ints1d, end: Ints1d, space: np.ndarray) -> tuple[Ints1d, Ints1d]:
    """Return spans without the whitespace tokens at their ends, where no entity may have one.

    start (Ints1d): First token of each span, shape (n_spans,).
    end (Ints1d): One past the last token of each span, shape (n_spans,).
    space (ndarray): Whether a token is whitespace, shape (n_tokens,).
    RETURNS (Tuple[Ints1d, Ints1d]): The new starts and ends, shape (n_spans,) each. They are equal
        if a span has only whitespace.
    """
    words = np.flatnonzero(np.equal(space, 0))
    next_word, last_word = np.append(words, len(space)), np.append(-1, words)
    start = np.minimum(next_word[np.searchsorted(words, start)], end)
    return start, np.maximum(last_word[np.searchsorted(words, end)] + 1, start)


def predict_examples(nlp: Language, examples: Sequence[Example]) -> None:
    """Replace the predicted documents of examples by those that a pipeline returns.

    nlp (Language): The pipeline, of which some components may be disabled.
    examples (Sequence[Example]): The examples, changed in place.
    """
    for eg, doc in zip(examples, nlp.pipe(eg.predicted for eg in examples), strict=True):
        eg.predicted = doc
