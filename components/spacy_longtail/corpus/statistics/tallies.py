"""One pass over the parts of a corpus: what is counted, in memory bounded by the counts."""

from __future__ import annotations  # array[int]

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...types import SentenceCounts
from ..counts import CorpusCounts, entity_bounds
from ..folder import PARTS, part_path
from ..formats.docbin import stream_docs
from ..repeats import kept_tokens
from ..sentences import has_boundaries, sentence_lengths

Kind = tuple[int, tuple[tuple[str, int], ...]]  # length, entity tokens per type


class CountedSentence(NamedTuple):
    """A sentence, and what is counted in it.

    An entity that runs across a sentence boundary counts as not annotated: cut at the boundary it is
    not one, and no pipe learns it.
    """

    doc: Doc
    start: int  # tokens, end exclusive
    end: int
    counted: np.ndarray  # (n_tokens,) of the document: annotated, and no white space
    mentions: list[tuple[int, int, str]]  # tokens of the document, end exclusive, and type

    def counts(self) -> SentenceCounts:
        """The counts, as `count_doc` counts the sentence when it is cut out."""
        tokens: dict[str, int] = {}
        mentions: dict[str, int] = {}
        singles: dict[str, int] = {}
        for start, end, label in self.mentions:
            n_tokens = int(self.counted[start:end].sum())
            tokens[label] = tokens.get(label, 0) + n_tokens
            mentions[label] = mentions.get(label, 0) + 1
            singles[label] = singles.get(label, 0) + (n_tokens == 1)
        length = int(self.counted[self.start : self.end].sum())
        return SentenceCounts(tokens, length, mentions, singles)


def counted_sentences(doc: Doc) -> Iterator[CountedSentence]:
    """The sentences of a document. One without sentence boundaries is one sentence."""
    bounds = np.concatenate([[0], np.cumsum(sentence_lengths(doc))])
    iob, is_space = doc.to_array([ENT_IOB, IS_SPACE]).T
    annotated = iob > 0
    mentions: list[list[tuple[int, int, str]]] = [[] for _ in bounds[1:]]
    for start, end, label in entity_bounds(doc):
        first, last = (np.searchsorted(bounds, [start, end - 1], side="right") - 1).tolist()
        if first == last:
            mentions[first].append((start, end, doc.vocab.strings[label]))
        else:
            annotated[start:end] = False
    counted = annotated & (is_space == 0)
    for (start, end), own in zip(pairwise(bounds.tolist()), mentions, strict=True):
        yield CountedSentence(doc, start, end, counted, own)


def present_parts(corpus: Path) -> dict[str, Path]:
    """Where the parts of a converted corpus are, those that it has.

    RETURNS (Dict[str, Path]): By part. A corpus that was not split has all of it as train; else train
        is named whether it is there or not.
    """
    paths = {part: part_path(corpus, part) for part in PARTS}
    whole = part_path(corpus, "all")
    if not paths["train"].exists() and whole.exists():
        return {"train": whole}
    return {part: path for part, path in paths.items() if part == "train" or path.exists()}


def read_part(path: Path) -> Iterator[Doc]:
    """The documents of a .spacy file or folder, one file at a time in memory."""
    yield from stream_docs(path, spacy.blank("xx"))


def words_key(words: list[str]) -> int:
    """What equal texts have in common: a 64-bit hash of the case-folded words, 0 without any."""
    return get_string_id("\0".join(words).casefold()) if words else 0


def _keys() -> array[int]:
    return array("Q")  # 8 bytes for each sentence


@dataclass
class PartTally:
    """What a part holds. `a + b` merges two parts of a corpus, `add` streams documents in."""

    n_docs: int = 0
    n_one_sentence: int = 0  # documents of one sentence
    n_unbounded: int = 0  # documents of several tokens without any sentence boundary
    n_unannotated: int = 0  # words without annotation
    longest: int = 0  # words of the longest sentence
    undersampled: Counter[str] = field(default_factory=Counter)  # sentences, tokens
    counts: CorpusCounts = field(default_factory=CorpusCounts)
    kinds: Counter[Kind] = field(default_factory=Counter)
    surfaces: Counter[tuple[str, str]] = field(default_factory=Counter)  # case-folded, with the type
    single_words: Counter[tuple[str, str]] = field(default_factory=Counter)  # one-token mentions
    outside: Counter[str] = field(default_factory=Counter)  # word forms that are O
    words: array[int] = field(default_factory=_keys)  # hash of the words of each sentence, 0 without any
    entities: array[int] = field(
        default_factory=_keys
    )  # hash of its entities and their places, 0 without any
    complete: array[int] = field(default_factory=_keys)  # whether every word is annotated

    def add(self, doc: Doc) -> None:
        """Count a document."""
        iob, label, is_space = doc.to_array([ENT_IOB, ENT_TYPE, IS_SPACE]).T
        in_entity = ((iob == 1) | (iob == 3)) & (label != 0)
        before = np.concatenate([[0], np.cumsum(is_space == 0)]).tolist()  # words before each token
        sentences = list(counted_sentences(doc))
        self.n_docs += 1
        self.n_one_sentence += len(sentences) == 1
        self.n_unbounded += len(doc) > 1 and not has_boundaries(doc)
        for sentence in sentences:
            own = slice(sentence.start, sentence.end)
            words = [t.text for t in doc[own.start : own.stop] if not t.is_space]
            counts, counted = sentence.counts(), sentence.counted[own]
            self.counts.add(counts)
            self.kinds[counts.length, tuple(counts.tokens.items())] += 1
            self.n_unannotated += len(words) - counts.length
            self.longest = max(self.longest, len(words))
            self._add_undersampled(in_entity[own], counted)
            for i in np.flatnonzero(counted & (iob[own] == 2)).tolist():
                self.outside[doc[own.start + i].text] += 1
            places = []
            for start, end, name in sentence.mentions:
                self.surfaces[doc[start:end].text.casefold(), name] += 1
                if end == start + 1:
                    self.single_words[doc[start].text, name] += 1
                first = before[own.start]
                places.append((before[start] - first, before[end - 1] - first, name))
            self.words.append(words_key(words))
            self.entities.append(get_string_id(repr(places)) if places else 0)
            self.complete.append(counts.length == len(words))

    def _add_undersampled(self, in_entity: np.ndarray, counted: np.ndarray) -> None:
        """What balanced undersampling keeps of a sentence."""
        kept = kept_tokens(in_entity)
        if len(kept):
            self.undersampled["sentences"] += 1
            self.undersampled["tokens"] += int(np.count_nonzero(counted[kept]))

    def __add__(self, other: PartTally) -> PartTally:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return PartTally(**{**sums, "longest": max(self.longest, other.longest)})


def tally_part(path: Path) -> PartTally:
    """Count a .spacy file or folder."""
    tally = PartTally()
    for doc in read_part(path):
        tally.add(doc)
    return tally
