"""Views of documents and examples that pipes and readers train on: sentences, and types left out."""

from collections.abc import Collection, Iterable

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Ints1d


def sentence_lengths(doc: Doc) -> Ints1d:
    """Tokens of each sentence; the whole document where no boundary is set. (n_sentences,)"""
    if not len(doc):
        return np.zeros(0, dtype="int64")
    starts = np.flatnonzero(doc.to_array("SENT_START") == 1)
    bounds = np.concatenate([[0], starts[starts > 0], [len(doc)]])
    return np.diff(bounds)


def holds(doc: Doc, labels: Collection[str]) -> bool:
    """Whether an entity of one of the types stands in the document."""
    return any(ent.label_ in labels for ent in doc.ents)


def keep_types(eg: Example, labels: Collection[str]) -> Example:
    """The example with every type outside `labels` annotated as O. The original is left alone."""
    left_out = [ent for ent in eg.reference.ents if ent.label_ not in labels]
    if not left_out:
        return eg
    reference = eg.reference.copy()
    kept = [ent for ent in reference.ents if ent.label_ in labels]
    outside = [reference[ent.start : ent.end] for ent in left_out]
    reference.set_ents(kept, outside=outside, default="unmodified")
    return Example(eg.predicted, reference)


def sentences_with(examples: Iterable[Example], labels: Collection[str]) -> list[Example]:
    """One example for each gold sentence that holds a type of `labels`."""
    found: list[Example] = []
    for eg in examples:
        if holds(eg.reference, labels):
            found.extend(part for part in eg.split_sents() if holds(part.reference, labels))
    return found
