"""Corpus statistics: tokens and mentions per type, rareness. Streaming and mergeable."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.tokens import Doc

from ..types import SentenceCounts


def entity_bounds(doc: Doc) -> list[tuple[int, int, int]]:
    """First token, one past the last, and hash of the type of each entity, as doc.ents has them.

    Tokens inside an entity that nothing begins, for which doc.ents raises, are of none.
    """
    iob, label = doc.to_array([ENT_IOB, ENT_TYPE]).T
    starts = np.flatnonzero((iob == 3) & (label != 0))
    stops = np.append(np.flatnonzero(iob != 1), len(iob))
    ends = stops[np.searchsorted(stops, starts, side="right")]
    return list(zip(starts.tolist(), ends.tolist(), label[starts].tolist(), strict=True))


def count_doc(doc: Doc) -> SentenceCounts:
    """Count one document or sentence. Whitespace and unannotated tokens (`-`) are left out."""
    annotated = doc.to_array([IS_SPACE, ENT_IOB])
    words = (annotated[:, 0] == 0) & (annotated[:, 1] != 0)
    tokens: Counter[str] = Counter()
    mentions: Counter[str] = Counter()
    singles: Counter[str] = Counter()
    for start, end, label in entity_bounds(doc):
        name, n_tokens = doc.vocab.strings[label], int(words[start:end].sum())
        tokens[name] += n_tokens
        mentions[name] += 1
        singles[name] += n_tokens == 1
    return SentenceCounts(dict(tokens), int(words.sum()), dict(mentions), dict(singles))


@dataclass
class CorpusCounts:
    """Totals over a corpus. `a + b` merges two parts; `add` streams one unit in."""

    n_tokens: int = 0
    n_units: int = 0  # sentences, or documents
    n_entity_units: int = 0  # those with an entity
    tokens: Counter[str] = field(default_factory=Counter)
    mentions: Counter[str] = field(default_factory=Counter)
    singles: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)  # units that hold the type

    def add(self, unit: SentenceCounts, times: int = 1) -> None:
        self.n_tokens += unit.length * times
        self.n_units += times
        self.n_entity_units += times * bool(unit.tokens)
        for total, part in (
            (self.tokens, unit.tokens),
            (self.mentions, unit.mentions),
            (self.singles, unit.singles),
            (self.units, dict.fromkeys(unit.tokens, 1)),
        ):
            for label, n in part.items():
                total[label] += n * times

    def __add__(self, other: "CorpusCounts") -> "CorpusCounts":
        return CorpusCounts(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )

    @property
    def labels(self) -> list[str]:
        """Types with a mention, most frequent first."""
        return sorted(self.mentions, key=lambda t: (-self.mentions[t], t))

    @property
    def n_entity_tokens(self) -> int:
        return sum(self.tokens.values())

    def rareness(self) -> dict[str, float]:
        """Self-information of each type in bits, -log2(C_t / N). SOURCE: Wang & Wang 2022, eq. 2."""
        return {t: -math.log2(c / self.n_tokens) + 0.0 for t, c in self.tokens.items() if c}

    def classes(self, unit: str, labels: Iterable[str], prefixes: str) -> dict[str, int]:
        """Tokens per class for class weights: O and each type, or O and each tag.

        unit (str): "type" merges the prefixes, "tag" keeps them.
        prefixes (str): "BI" or "BILU", the tags of a type, in order.
        """
        labels = list(labels)
        found = {"O": self.n_tokens - sum(self.tokens[t] for t in labels)}
        for t in labels:
            if unit == "type":
                found[t] = self.tokens[t]
                continue
            longer = self.mentions[t] - self.singles[t]
            by_prefix = {
                "B": self.mentions[t] if "L" not in prefixes else longer,
                "I": self.tokens[t] - self.mentions[t] - (longer if "L" in prefixes else 0),
                "L": longer,
                "U": self.singles[t],
            }
            found.update({f"{p}-{t}": by_prefix[p] for p in prefixes})
        return found


def count_docs(docs: Iterable[Doc]) -> CorpusCounts:
    """Count a stream of documents, each one unit."""
    counts = CorpusCounts()
    for doc in docs:
        counts.add(count_doc(doc))
    return counts
