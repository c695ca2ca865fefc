"""The sentences of a gate: those with a rare type, to learn from, and those that it has flagged."""

import warnings
from collections.abc import Collection, Iterable, Iterator

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d

from ...corpus.examples import annotated_sentences, flagged_sentences
from ...corpus.sentences import has_boundaries, sentence_lengths, touched_sentences
from ...errors import Errors, Warnings
from ..pipeline_checks import boundary_setters
from ..scores.spans import ScoredSpan

Parts = list[tuple[int, int]]  # of a document: first token and one past the last of each


def with_boundaries(
    examples: Iterable[Example], nlp: Language | None, pipe: object
) -> Iterator[Example]:
    """The examples, the predicted documents with the boundaries that they have when `pipe` trains.

    Those with gold boundaries, and those that have boundaries already, are left as they are.
    """
    setters = [] if nlp is None else boundary_setters(nlp, pipe)
    for eg in examples:
        if setters and not (has_boundaries(eg.reference) or has_boundaries(eg.predicted)):
            doc = eg.predicted.copy()
            for setter in setters:
                doc = setter(doc)
            eg = Example(doc, eg.reference)
        yield eg


def warn_of_whole_documents(examples: Iterable[Example], sets_boundaries: bool, who: str) -> None:
    """Warn where a pipe learns from documents without boundaries, though there are some to learn with.

    sets_boundaries (bool): Whether a component before it sets boundaries. who (str): The component.
    """
    bare = [eg for eg in examples if not has_boundaries(eg.predicted)]
    if not bare:
        return
    if sets_boundaries:
        where = "but will predict sentence by sentence"
    elif any(len(sentence_lengths(eg.reference)) > 1 for eg in bare):
        where = "though the gold documents have several"
    else:
        return
    warnings.warn(Warnings.W107.format(who=who, where=where), stacklevel=4)


def sentence_targets(
    examples: Iterable[Example], labels: Collection[str], kept_share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Per predicted sentence: whether it holds a gold rare type, and whether to learn from it.

    kept_share (float): Of the sentences without a rare type, how many to learn from: always the same.
    RETURNS (Tuple[ndarray, ndarray]): (n_sentences, 1) each.
    """
    truth, known = [], []
    for eg in examples:
        flags = flagged_sentences(eg, labels)
        seen = annotated_sentences(eg, flags)
        if kept_share < 1:
            seen &= flags | (_draws(eg.predicted) < kept_share)
        truth.append(flags)
        known.append(seen)
    return np.concatenate(truth)[:, None], np.concatenate(known)[:, None]


def _draws(doc: Doc) -> Floats1d:
    """A number in [0, 1) for each sentence, the same whenever it comes: drawn from its words."""
    if not len(doc):
        return np.zeros(0)
    lengths = sentence_lengths(doc)
    words = doc.to_array("ORTH").astype("uint64")
    sums = np.add.reduceat(words, np.cumsum(lengths) - lengths)
    return (sums >> np.uint64(11)).astype("float64") / 2.0**53


def flagged_parts(doc: Doc, key: str | None, who: str) -> Parts:
    """First token and one past the last of each part to look at.

    key (Optional[str]): Key in doc.spans: each sentence in which one of the spans has a token is a part;
        null is a whole document.
    """
    if key is None:
        return [(0, len(doc))] if len(doc) else []
    if key not in doc.spans:
        raise ValueError(Errors.L254.format(who=who, key=key))
    ends = np.cumsum(sentence_lengths(doc))
    flagged = np.flatnonzero(touched_sentences(doc, doc.spans[key]))
    starts = np.append(0, ends)[flagged]
    return list(zip(starts.tolist(), ends[flagged].tolist(), strict=True))


def within(ents: Iterable[ScoredSpan], parts: Parts) -> Iterator[ScoredSpan]:
    """The entities that stand in one of the parts as a whole."""
    starts, ends = np.asarray(parts).T
    for ent in ents:
        at = np.searchsorted(starts, ent.start, side="right") - 1
        if at >= 0 and ent.end <= ends[at]:
            yield ent
