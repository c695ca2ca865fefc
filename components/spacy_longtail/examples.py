"""Views of documents and examples that pipes and readers train on: sentences, and types left out."""

from collections.abc import Collection, Iterable

import numpy as np
from spacy.strings import get_string_id
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


def gold_entities(eg: Example) -> tuple[Ints1d, Ints1d]:
    """Entity boundaries and types of the gold annotation, on the predicted tokens.

    RETURNS (Tuple[Ints1d, Ints1d]): (n_tokens,) spaCy's codes, 0 no annotation (misaligned tokens too),
        1 inside, 2 outside, 3 begins; (n_tokens,) hashes of the types, 0 outside entities.
    """
    tokens = eg.reference.to_array(["ORTH", "ENT_IOB", "ENT_TYPE", "IS_SPACE"])
    if not np.array_equal(tokens[:, 0], eg.predicted.to_array("ORTH")):
        return _aligned_entities(eg)
    iob, types = tokens[:, 1].astype("int64"), tokens[:, 2]
    if not iob.any():
        return iob, types
    iob[(iob == 3) & (types == 0)] = 0  # blocked tokens
    iob[(iob == 0) & (tokens[:, 3] == 1)] = 2  # as spaCy aligns whitespace
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
