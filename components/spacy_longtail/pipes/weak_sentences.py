"""Which sentences hold a rare type: counted in a corpus, told of a batch."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Ints1d

from ..examples import flagged_sentences, sentence_lengths


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
    """Count gold mentions, and gold sentences by their types."""
    counts = TypeCounts(Counter(), Counter())
    for eg in examples:
        bounds = np.cumsum(sentence_lengths(eg.reference))
        types: list[set[str]] = [set() for _ in bounds]
        for ent in eg.reference.ents:
            counts.mentions[ent.label_] += 1
            types[int(np.searchsorted(bounds, ent.start, side="right"))].add(ent.label_)
        counts.sentences.update(map(frozenset, types))
    return counts


def sentence_targets(
    examples: Iterable[Example], labels: Collection[str], kept_share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Per predicted sentence: whether it holds a gold rare type, and whether to learn from it.

    kept_share (float): Of the sentences without a rare type, how many to learn from: always the same.
    RETURNS (Tuple[ndarray, ndarray]): (n_sentences, 1) each.
    """
    truth, known = [], []
    for eg in examples:
        ends = np.cumsum(sentence_lengths(eg.predicted))
        flags = flagged_sentences(eg, labels)
        seen = np.ones(len(ends), dtype=bool)
        missing = eg.reference.to_array("ENT_IOB") == 0
        if missing.any():
            y2x = eg.alignment.y2x
            tokens = y2x.data[np.repeat(missing, y2x.lengths)]
            n_missing = np.bincount(np.searchsorted(ends, tokens, side="right"), minlength=len(ends))
            seen = (n_missing < np.diff(ends, prepend=0)) | flags
        if kept_share < 1:
            seen &= flags | (_draws(eg.predicted, ends) < kept_share)
        truth.append(flags)
        known.append(seen)
    return np.concatenate(truth)[:, None], np.concatenate(known)[:, None]


def _draws(doc: Doc, ends: Ints1d) -> Floats1d:
    """A number in [0, 1) for each sentence, the same whenever it comes: drawn from its words."""
    if not len(ends):
        return np.zeros(0)
    words = doc.to_array("ORTH").astype("uint64")
    sums = np.add.reduceat(words, np.concatenate([[0], ends[:-1]]))
    return (sums >> np.uint64(11)).astype("float64") / 2.0**53
