"""A pass over a pool that keeps, in bounded memory, the sentences that may be proposed."""

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.types import Floats1d, Floats2d

from ..pipes.gate.posteriors import expected_mentions
from .units import Unit, lot, sentence_vectors, sentences_of, text_key

RANDOM = "random"  # the share that is drawn by lot
LEAST = 1e-4  # expected mentions of a sentence that is worth keeping

Kept = TypeVar("Kept")


@dataclass
class Best(Generic[Kept]):
    """The sentences that score highest, each text once, where it does best: a bounded heap."""

    size: int
    heap: list[tuple[float, int, Kept]] = field(default_factory=list)
    scores: dict[int, float] = field(default_factory=dict)  # of what the heap has, by key

    @property
    def floor(self) -> float:
        """What a sentence must exceed to be kept."""
        if len(self.heap) < self.size:
            return -np.inf
        return self.heap[0][0] if self.heap else np.inf

    def add(self, score: float, key: int, unit: Kept) -> None:
        known = self.scores.get(key)
        if not self.size or (known is not None and score <= known):
            return
        self.scores[key] = score
        if known is not None:  # a text rarely beats itself, so it may be looked for
            at = next(i for i, row in enumerate(self.heap) if row[1] == key)
            self.heap[at] = (score, key, unit)
            heapq.heapify(self.heap)
        elif len(self.heap) < self.size:
            heapq.heappush(self.heap, (score, key, unit))
        else:
            _, dropped, _ = heapq.heappushpop(self.heap, (score, key, unit))
            del self.scores[dropped]

    def ranked(self) -> list[tuple[float, Kept]]:
        """Best first."""
        return [(score, unit) for score, _, unit in sorted(self.heap, key=lambda row: (-row[0], row[1]))]


class Scan:
    """What a pass has found so far."""

    def __init__(
        self, types: list[str], sizes: Mapping[str, int], known: Collection[int] = (), seed: int = 0
    ) -> None:
        self.types, self.known, self.seed = types, known, seed
        self.best: dict[str, Best[Unit]] = {name: Best(n) for name, n in sizes.items()}
        self.expected: Floats1d = np.zeros(len(types))  # mentions in what was read
        self.n_texts = self.n_sentences = 0
        self.n_known = 0  # sentences that the corpus has already

    def read(self, batches: Iterable[list[Doc]], nlp: Language) -> None:
        """Count the expected mentions in documents that a pipeline has read, and keep the best."""
        for batch in batches:
            bounds = [sentences_of(doc) for doc in batch]
            ends = np.cumsum([*map(len, bounds)])
            rows = np.split(self._expected(batch, int(ends[-1]), nlp), ends[:-1])
            for doc, own, expected in zip(batch, bounds, rows, strict=True):
                self._offer(doc, own, expected)
            self.n_texts += len(batch)

    def _expected(self, docs: list[Doc], n: int, nlp: Language) -> Floats2d:
        """The most mentions of each rare type that any component expects. (n_sentences, n_types)"""
        most = np.zeros((n, len(self.types)))
        for component in expected_mentions(nlp, docs) if n else ():
            for i, label in enumerate(component.labels):
                if label in self.types:
                    column = self.types.index(label)
                    most[:, column] = np.maximum(most[:, column], component.mentions[:, i])
        return most

    def _offer(self, doc: Doc, bounds: list[tuple[int, int]], expected: Floats2d) -> None:
        vectors: list[Floats1d] | None = None
        for i, (start, end) in enumerate(bounds):
            if start == end:
                continue
            text = doc[start:end].text
            key = text_key(text)
            self.n_sentences += 1
            if key in self.known:
                self.n_known += 1
                continue
            self.expected += expected[i]
            scores = {t: float(x) for t, x in zip(self.types, expected[i], strict=True) if x > LEAST}
            scores[RANDOM] = 1.0 - lot(text, self.seed)
            into = [name for name, score in scores.items() if score > self.best[name].floor]
            if into:
                vectors = vectors or sentence_vectors(doc, bounds)
                unit = Unit.of(doc, start, end, expected[i], vectors[i])
                for name in into:
                    self.best[name].add(scores[name], key, unit)
