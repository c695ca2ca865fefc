"""Corpus statistics: tokens and mentions per type, rareness. Streaming and mergeable."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB, IS_SPACE
from spacy.strings import StringStore
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..types import SentenceCounts


def count_doc(doc: Doc) -> SentenceCounts:
    """Count one document or sentence. Whitespace and unannotated tokens (`-`) are left out."""
    annotated = doc.to_array([IS_SPACE, ENT_IOB])
    words = (annotated[:, 0] == 0) & (annotated[:, 1] != 0)
    tokens: Counter[str] = Counter()
    mentions: Counter[str] = Counter()
    singles: Counter[str] = Counter()
    for ent in doc.ents:
        n_tokens = int(words[ent.start : ent.end].sum())
        tokens[ent.label_] += n_tokens
        mentions[ent.label_] += 1
        singles[ent.label_] += n_tokens == 1
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
        for total, part in zip(
            (self.tokens, self.mentions, self.singles, self.units),
            (unit.tokens, unit.mentions, unit.singles, dict.fromkeys(unit.tokens, 1)),
            strict=True,
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


class TokenColumns(NamedTuple):
    """The annotation of some documents, one after another. Every array is (n_tokens,)."""

    iob: Ints1d  # spaCy's codes: 0 no annotation, 1 inside, 2 outside, 3 begins
    label: Ints1d  # hash of the type, 0 outside entities
    is_space: Ints1d  # bool
    sent_start: Ints1d  # 1 opens a sentence, 0 is not annotated, -1 continues one
    opens_doc: Ints1d  # bool


class Mentions(NamedTuple):
    """Entities, in the order of their tokens. Every array is (n_mentions,)."""

    start: Ints1d  # first token
    end: Ints1d  # one past the last token
    label: Ints1d  # hash of the type


class SentenceTable(NamedTuple):
    """The sentences of some documents, and what is counted in them."""

    sentence: Ints1d  # (n_tokens,) index of the sentence
    counted: Ints1d  # (n_tokens,) bool: annotated, and no whitespace
    length: Ints1d  # (n_sentences,) counted tokens
    mentions: Mentions  # without those that run across a sentence boundary
    n_tokens: Ints1d  # (n_mentions,) counted tokens

    def counts(self, strings: StringStore) -> list[SentenceCounts]:
        """The counts of each sentence, as `count_doc` counts it when cut out."""
        found = [SentenceCounts({}, n, {}, {}) for n in self.length.tolist()]
        names = {t: strings[t] for t in set(self.mentions.label.tolist())}
        owners = self.sentence[self.mentions.start].tolist()
        labels = self.mentions.label.tolist()
        for owner, label, n_tokens in zip(owners, labels, self.n_tokens.tolist(), strict=True):
            tokens, _, mentions, singles = found[owner]
            name = names[label]
            tokens[name] = tokens.get(name, 0) + n_tokens
            mentions[name] = mentions.get(name, 0) + 1
            singles[name] = singles.get(name, 0) + (n_tokens == 1)
        return found


def find_mentions(columns: TokenColumns) -> Mentions:
    """Every entity, including those that cross a sentence boundary."""
    start = np.flatnonzero((columns.iob == 3) & (columns.label != 0))
    stops = np.append(np.flatnonzero((columns.iob != 1) | columns.opens_doc), len(columns.iob))
    end = stops[np.searchsorted(stops, start, side="right")]
    return Mentions(start, end, columns.label[start])


def tabulate(columns: TokenColumns) -> SentenceTable:
    """Sentences and what is counted in them.

    An entity that runs across a sentence boundary counts as not annotated: cut at the boundary it
    is not one, and no pipe learns it.

    columns (TokenColumns): The annotation. A document without sentence boundaries is one sentence.
    RETURNS (SentenceTable): The sentences; an empty document has none.
    """
    sentence = np.cumsum((columns.sent_start == 1) | columns.opens_doc) - 1
    found = find_mentions(columns)
    whole = sentence[found.start] == sentence[found.end - 1]
    annotated = columns.iob > 0
    for start, end in zip(found.start[~whole].tolist(), found.end[~whole].tolist(), strict=True):
        annotated[start:end] = False
    counted = annotated & ~columns.is_space
    before = np.concatenate([[0], np.cumsum(counted)])
    mentions = Mentions(*(column[whole] for column in found))
    n_sentences = int(sentence[-1]) + 1 if len(sentence) else 0
    return SentenceTable(
        sentence,
        counted,
        np.bincount(sentence[counted], minlength=n_sentences),
        mentions,
        before[mentions.end] - before[mentions.start],
    )
