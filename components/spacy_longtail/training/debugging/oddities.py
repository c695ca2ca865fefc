"""What looks wrong in the annotation of a part: counted in one pass, with examples."""

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from thinc.types import Ints1d

from ...corpus.counts import SentenceTable, find_mentions, tabulate
from ...corpus.statistics.columns import Batch, Words
from ...corpus.statistics.corpus_rules import LONG
from ...corpus.statistics.overlap import KeyStore, marked_up, sentence_keys

N_EXAMPLES = 3
CONTEXT = 3  # tokens on either side of an example


class Forms:
    """Numbers of the word forms that are punctuation, or hold what no text should."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.punctuation: list[int] = []
        self.broken: list[int] = []
        self._n_known = 0

    def update(self) -> None:
        """Look at the forms that are new since the last call."""
        for number, text in enumerate(self.words.text[self._n_known :], self._n_known):
            kinds = [unicodedata.category(letter) for letter in text]
            if all(kind[0] in "PS" for kind in kinds) and any(kind[0] == "P" for kind in kinds):
                self.punctuation.append(number)
            # control characters, unassigned ones, lone surrogates, and what replaces bad bytes
            if not text.isspace() and ("\ufffd" in text or {"Cc", "Cn", "Cs"} & set(kinds)):
                self.broken.append(number)
        self._n_known = len(self.words.text)


@dataclass
class Oddities:
    """Counts by kind, and some examples. `add` streams documents in."""

    n: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    docs: KeyStore = field(default_factory=KeyStore)  # of documents, as sentences are known

    def add(self, batch: Batch, table: SentenceTable, forms: Forms) -> None:
        """batch (Batch): Documents. table (SentenceTable): Their sentences. forms (Forms): Of all."""
        forms.update()
        self._add_entities(batch, table, forms)
        self._add_sentences(batch, table, forms)
        self._add_docs(batch)

    def _add_entities(self, batch: Batch, table: SentenceTable, forms: Forms) -> None:
        is_space, is_punct = batch.columns.is_space, np.isin(batch.word, forms.punctuation)
        start, end, _ = find_mentions(batch.columns)
        marks = np.concatenate([[0], np.cumsum(is_punct)])
        punctuation = marks[end] - marks[start] == end - start
        edge = (is_punct[start] | is_punct[end - 1]) & ~punctuation
        kinds = {
            "entity_whitespace": is_space[start] | is_space[end - 1],
            "entity_punctuation": punctuation,
            "entity_punctuation_edge": edge,
            "entity_crossing": table.sentence[start] != table.sentence[end - 1],
        }
        for kind, found in kinds.items():
            self._note(kind, batch, forms.words, start[found], end[found])
        bounds = np.zeros(len(is_space) + 1, dtype="int64")
        np.add.at(bounds, start, 1)
        np.add.at(bounds, end, -1)
        stray = np.flatnonzero((batch.columns.iob == 1) & (np.cumsum(bounds)[:-1] == 0))
        self._note("entity_stray", batch, forms.words, stray, stray + 1)

    def _add_sentences(self, batch: Batch, table: SentenceTable, forms: Forms) -> None:
        columns = batch.columns
        starts = (columns.sent_start == 1) & columns.is_space & ~columns.opens_doc
        broken = np.isin(batch.word, forms.broken)
        for kind, found in {"boundary_whitespace": starts, "word_broken": broken}.items():
            places = np.flatnonzero(found)
            self._note(kind, batch, forms.words, places, places + 1)
        n_words = np.bincount(table.sentence[~columns.is_space], minlength=len(table.length))
        self.n["sentence_long"] += int(np.count_nonzero(n_words > LONG))

    def _add_docs(self, batch: Batch) -> None:
        columns, n_docs = batch.columns, len(batch.lengths)
        doc = np.repeat(np.arange(n_docs), batch.lengths)
        n_annotated = np.bincount(doc[columns.iob != 0], minlength=n_docs)
        self.n["doc_empty"] += int(np.count_nonzero(batch.lengths == 0))
        self.n["doc_unannotated"] += int(np.count_nonzero((n_annotated == 0) & (batch.lengths > 0)))
        whole = columns._replace(sent_start=np.zeros_like(columns.sent_start))
        self.docs.batches.append(sentence_keys(batch, tabulate(whole)))

    def _note(self, kind: str, batch: Batch, words: Words, start: Ints1d, end: Ints1d) -> None:
        self.n[kind] += len(start)
        own = self.examples.setdefault(kind, [])
        bounds = np.append(np.flatnonzero(batch.columns.opens_doc), len(batch.word))
        for first, last in list(zip(start.tolist(), end.tolist(), strict=True))[: N_EXAMPLES - len(own)]:
            doc = int(np.searchsorted(bounds, first, side="right"))
            around = max(first - CONTEXT, bounds[doc - 1]), min(last + CONTEXT, bounds[doc])
            own.append(marked_up(batch, words, *around))
