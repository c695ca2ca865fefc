"""Counts of tokens and mentions by type, and the rareness of types."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.tokens import Doc

from ..types import SentenceCounts

MISSING, INSIDE, OUTSIDE, BEGINS = range(4)  # of Token.ent_iob
EntityBounds = tuple[int, int, int]  # first token, one past the last, hash of the type


def entity_bounds(doc: Doc) -> list[EntityBounds]:
    """Return bounds and type of each entity, as in doc.ents.

    Tokens inside an entity that nothing begins, for which doc.ents raises, are ignored.
    """
    iob, label = doc.to_array([ENT_IOB, ENT_TYPE]).T
    starts = np.flatnonzero((iob == BEGINS) & (label != 0))
    stops = np.append(np.flatnonzero(iob != INSIDE), len(iob))
    ends = stops[np.searchsorted(stops, starts, side="right")]
    return list(zip(starts.tolist(), ends.tolist(), label[starts].tolist(), strict=True))


def count_doc(doc: Doc, bounds: Iterable[EntityBounds] | None = None) -> SentenceCounts:
    """Return the counts of a document or sentence, without whitespace and unannotated tokens."""
    is_space, iob = doc.to_array([IS_SPACE, ENT_IOB]).T
    words = (is_space == 0) & (iob != MISSING)
    tokens, mentions, singles = Counter[str](), Counter[str](), Counter[str]()
    for start, end, label in entity_bounds(doc) if bounds is None else bounds:
        name, n_tokens = doc.vocab.strings[label], int(words[start:end].sum())
        tokens[name] += n_tokens
        mentions[name] += 1
        singles[name] += n_tokens == 1
    return SentenceCounts(dict(tokens), int(words.sum()), dict(mentions), dict(singles))


@dataclass
class CorpusCounts:
    """Totals of a corpus. `add` streams one unit in."""

    n_tokens: int = 0
    n_units: int = 0  # sentences, or documents
    n_entity_units: int = 0  # units with an entity
    tokens: Counter[str] = field(default_factory=Counter)
    mentions: Counter[str] = field(default_factory=Counter)
    singles: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)  # units that hold the type

    def add(self, unit: SentenceCounts, times: int = 1) -> None:
        self.n_tokens += unit.length * times
        self.n_units += times
        self.n_entity_units += times * bool(unit.tokens)
        for label, n in unit.tokens.items():
            self.tokens[label] += n * times
            self.mentions[label] += unit.mentions[label] * times
            self.singles[label] += unit.singles.get(label, 0) * times
            self.units[label] += times

    @property
    def labels(self) -> list[str]:
        """Return the types with a mention, most frequent first."""
        return sorted(self.mentions, key=lambda t: (-self.mentions[t], t))

    @property
    def n_entity_tokens(self) -> int:
        return sum(self.tokens.values())

    def rareness(self) -> dict[str, float]:
        """Return the self-information of each type in bits: -log2(C_t / N).

        SOURCE: Wang & Wang 2022, eq. 2.
        """
        return {t: -math.log2(c / self.n_tokens) + 0.0 for t, c in self.tokens.items() if c}

    def classes(self, unit: str, labels: Iterable[str], prefixes: str) -> dict[str, int]:
        """Return the tokens of each class for class weights: O and each type, or O and each tag.

        unit (str): "type" merges the prefixes, "tag" keeps them.
        prefixes (str): "BI" or "BILU", the tags of a type, in order.
        """
        by_type = {t: self.tokens[t] for t in labels}
        classes = {"O": self.n_tokens - sum(by_type.values())}
        if unit == "type":
            return classes | by_type
        for t, n in by_type.items():
            mentions, singles = self.mentions[t], self.singles[t]
            by_prefix = {"B": mentions, "I": n - mentions}
            if "L" in prefixes:
                longer = mentions - singles
                by_prefix = {"B": longer, "I": n - mentions - longer, "L": longer, "U": singles}
            classes |= {f"{prefix}-{t}": by_prefix[prefix] for prefix in prefixes}
        return classes


def count_docs(docs: Iterable[Doc]) -> CorpusCounts:
    """Return the counts of documents. Each document is one unit."""
    counts = CorpusCounts()
    for doc in docs:
        counts.add(count_doc(doc))
    return counts
