"""The counts of every sentence of a corpus, in memory that streaming can afford."""

from array import array
from collections.abc import Iterator

import numpy as np
from thinc.types import Floats1d, Ints1d

from ..corpus.counts import CorpusCounts
from ..types import SentenceCounts


class SentenceTable:
    """Length, and tokens and mentions per type, of each sentence: some 30 bytes for each.

    What a reader that decides over whole sentences needs to remember between its two passes.
    """

    def __init__(self) -> None:
        self.total = CorpusCounts()
        self.n_docs = 0
        self.sizes = array("I")
        self._type_ids: dict[str, int] = {}
        self._length = array("I")
        self._n_types = array("H")
        self._types, self._tokens, self._mentions = array("H"), array("I"), array("I")
        self._ends: Ints1d = np.zeros(0, dtype="int64")  # of each sentence in these
        self._names: list[str] = []

    def append(self, counts: SentenceCounts, size: int) -> None:
        """Add the next sentence, and its tokens with whitespace and all."""
        self.total.add(counts)
        self.sizes.append(size)
        self._length.append(counts.length)
        self._n_types.append(len(counts.tokens))
        for label, n_tokens in counts.tokens.items():
            self._types.append(self._type_ids.setdefault(label, len(self._type_ids)))
            self._tokens.append(n_tokens)
            self._mentions.append(counts.mentions[label])

    def __len__(self) -> int:
        return len(self._length)

    def __iter__(self) -> Iterator[SentenceCounts]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> SentenceCounts:
        """The counts of one sentence, without those of one-token entities."""
        if len(self._ends) != len(self):
            self._ends = np.cumsum(np.asarray(self._n_types, dtype="int64"))
            self._names = list(self._type_ids)
        end = int(self._ends[i])
        own = slice(end - self._n_types[i], end)
        labels = [self._names[t] for t in self._types[own]]
        tokens = dict(zip(labels, self._tokens[own], strict=True))
        return SentenceCounts(
            tokens, self._length[i], dict(zip(labels, self._mentions[own], strict=True)), {}
        )

    @property
    def lengths(self) -> Ints1d:
        """(n_sentences,) annotated tokens."""
        return np.asarray(self._length, dtype="int64")

    @property
    def entity_tokens(self) -> Ints1d:
        """(n_sentences,) tokens of any type."""
        weights = np.asarray(self._tokens, dtype="float64")
        return np.bincount(self._owner(), weights=weights, minlength=len(self)).astype("int64")

    def tokens_of(self, copies: Floats1d) -> dict[str, float]:
        """Entity tokens per type when sentence i comes copies[i] times."""
        weights = np.asarray(self._tokens) * copies[self._owner()]
        kinds = np.asarray(self._types, dtype="int64")
        sums = np.bincount(kinds, weights=weights, minlength=len(self._type_ids))
        return dict(zip(self._type_ids, sums.tolist(), strict=True))

    def _owner(self) -> Ints1d:
        """(n_entries,) the sentence of each entry of the per-type arrays."""
        return np.repeat(np.arange(len(self)), np.asarray(self._n_types, dtype="int64"))
