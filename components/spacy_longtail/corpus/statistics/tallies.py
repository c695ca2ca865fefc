"""One pass over the parts of a corpus: what is counted, in memory bounded by the counts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..counts import CorpusCounts, SentenceTable, tabulate
from ..folder import PARTS, part_path
from .columns import Batch, Words, stream_columns
from .overlap import KeyStore, sentence_keys

Kind = tuple[int, tuple[tuple[str, int], ...]]  # length, entity tokens per type


def present_parts(corpus: Path) -> dict[str, Path]:
    """Where the parts of a converted corpus are, those that it has.

    RETURNS (Dict[str, Path]): By part. A corpus that was not split has all of it as train; else train is
        named whether it is there or not.
    """
    paths = {part: part_path(corpus, part) for part in PARTS}
    whole = part_path(corpus, "all")
    if not paths["train"].exists() and whole.exists():
        return {"train": whole}
    return {part: path for part, path in paths.items() if part == "train" or path.exists()}


def read_parts(paths: Mapping[str, Path], words: Words) -> Iterator[tuple[str, Batch, SentenceTable]]:
    """The parts of a corpus, one after another.

    YIELDS (Tuple[str, Batch, SentenceTable]): Name of the part, some of its documents, their sentences.
    """
    for part, path in paths.items():
        for batch in stream_columns(path, words):
            yield part, batch, tabulate(batch.columns)


@dataclass
class PartTally:
    """What a part holds. `a + b` merges two parts of a corpus, `add` streams documents in."""

    n_docs: int = 0
    n_one_sentence: int = 0  # documents of one sentence
    n_unbounded: int = 0  # documents of several tokens without any sentence boundary
    n_unannotated: int = 0  # words without annotation
    longest: int = 0  # words of the longest sentence
    counts: CorpusCounts = field(default_factory=CorpusCounts)
    kinds: Counter[Kind] = field(default_factory=Counter)
    surfaces: Counter[tuple[str, str]] = field(default_factory=Counter)  # case-folded, with the type
    single_words: Counter[tuple[int, str]] = field(default_factory=Counter)  # one-token mentions
    outside: Counter[int] = field(default_factory=Counter)  # word forms that are O
    keys: KeyStore = field(default_factory=KeyStore)

    def add(self, batch: Batch, table: SentenceTable, words: Words) -> None:
        """batch (Batch): Documents. table (SentenceTable): Their sentences. words (Words): Of both."""
        columns = batch.columns
        self._add_docs(batch, table)
        self.n_unannotated += int(np.count_nonzero(~table.counted & ~columns.is_space))
        for unit in table.counts(words.strings):
            self.counts.add(unit)
            self.kinds[unit.length, tuple(unit.tokens.items())] += 1
        forms, times = np.unique(batch.word[table.counted & (columns.iob == 2)], return_counts=True)
        self.outside.update(dict(zip(forms.tolist(), times.tolist(), strict=True)))
        self._add_surfaces(batch, table, words)
        self.keys.batches.append(sentence_keys(batch, table))

    def _add_docs(self, batch: Batch, table: SentenceTable) -> None:
        columns, n_docs = batch.columns, len(batch.lengths)
        doc = np.repeat(np.arange(n_docs), batch.lengths)
        n_sentences = np.bincount(doc[np.diff(table.sentence, prepend=-1) > 0], minlength=n_docs)
        bounded = np.bincount(doc[~columns.opens_doc & (columns.sent_start != 0)], minlength=n_docs) > 0
        self.n_docs += n_docs
        self.n_one_sentence += int(np.count_nonzero(n_sentences == 1))
        self.n_unbounded += int(np.count_nonzero(~bounded & (batch.lengths > 1)))
        n_words = np.bincount(table.sentence[~columns.is_space], minlength=1)
        self.longest = max(self.longest, int(n_words.max()))

    def _add_surfaces(self, batch: Batch, table: SentenceTable, words: Words) -> None:
        names = {t: words.strings[t] for t in set(table.mentions.label.tolist())}
        word, spaced = batch.word.tolist(), batch.spaced.tolist()
        for start, end, label in zip(*(column.tolist() for column in table.mentions), strict=True):
            name = names[label]
            if end == start + 1:
                text = words.text[word[start]]
                self.single_words[word[start], name] += 1
            else:
                text = "".join(words.text[word[i]] + " " * spaced[i] for i in range(start, end)).rstrip(
                    " "
                )
            self.surfaces[text.casefold(), name] += 1

    def __add__(self, other: "PartTally") -> "PartTally":
        """The totals of both; sentences are compared by part, so the sum has no `keys`."""
        names = self.__dataclass_fields__.keys() - {"longest", "keys"}
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return PartTally(longest=max(self.longest, other.longest), **sums)
