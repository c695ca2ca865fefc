"""Which sentences hold a rare type: counted in a corpus, told of a batch."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d

from ..examples import annotated_sentences, flagged_sentences, has_boundaries, sentence_lengths
from .placement import boundary_setters


class TypeCounts(NamedTuple):
    mentions: Counter[str]
    sentences: Counter[frozenset[str]]  # by the types that stand in them

    def holding(self, labels: Collection[str]) -> int:
        """Sentences with one of the types."""
        return sum(n for types, n in self.sentences.items() if not types.isdisjoint(labels))

    def rare(self, share: float | None, most: int | None) -> tuple[list[str], float]:
        """Types with at most a share of all mentions, or at most so many; and how many these may have.

        RETURNS (Tuple[List[str], float]): The types, most frequent first, and the limit.
        """
        limit = max((share or 0.0) * self.mentions.total(), most or 0)
        return [label for label, n in self.mentions.most_common() if n <= limit], limit


def count_types(examples: Iterable[Example]) -> TypeCounts:
    """Count gold mentions, and sentences by the types in them.

    The sentences are gold, or where no gold boundaries are annotated those of the predicted document.
    """
    counts = TypeCounts(Counter(), Counter())
    for eg in examples:
        is_gold = has_boundaries(eg.reference)
        ends = np.cumsum(sentence_lengths(eg.reference if is_gold else eg.predicted))
        types: list[set[str]] = [set() for _ in ends]
        for ent in eg.reference.ents:
            counts.mentions[ent.label_] += 1
            tokens = [ent.start] if is_gold else eg.alignment.y2x[ent.start : ent.end]
            for i in np.unique(np.searchsorted(ends, tokens, side="right")).tolist():
                types[i].add(ent.label_)
        counts.sentences.update(map(frozenset, types))
    return counts


def with_boundaries(examples: Iterable[Example], nlp: Language | None, name: str) -> Iterator[Example]:
    """The examples, the predicted documents with the boundaries that they have when `name` trains.

    Those with gold boundaries, and those that have boundaries already, are left as they are.

    nlp (Optional[Language]): The current pipeline. name (str): One of its components.
    """
    setters = [] if nlp is None else boundary_setters(nlp, name)
    for eg in examples:
        if setters and not (has_boundaries(eg.reference) or has_boundaries(eg.predicted)):
            doc = eg.predicted.copy()
            for setter in setters:
                doc = setter(doc)
            eg = Example(doc, eg.reference)
        yield eg


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
