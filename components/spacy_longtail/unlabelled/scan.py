"""Sentences that may be proposed, kept from a pass over a pool, and which of them to propose."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats1d, Floats2d

from ..corpus.likeness import skeleton, text_key
from ..errors import Errors
from .expectations import expected_mentions
from .units import Unit, lot, sentence_vectors, sentences_of

RANDOM = "random"  # the share that is drawn by lot
LEAST = 1e-4  # expected mentions of a sentence that is worth keeping
NEAR = 0.97  # cosine of vectors less their mean, above which two sentences are near-duplicates
NEIGHBOURS = 3  # of those chosen, whose mean likeness is the penalty
PER_DOCUMENT = 0.1  # largest share of all proposals that one text of the pool may give

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

    def read(self, batches: Iterable[list[Doc]]) -> None:
        """Count the mentions that a pipeline expected in documents, and keep the best sentences."""
        for batch in batches:
            bounds = [sentences_of(doc) for doc in batch]
            ends = np.cumsum([*map(len, bounds)])
            rows = np.split(self._expected(batch, int(ends[-1])), ends[:-1])
            for doc, sentences, expected in zip(batch, bounds, rows, strict=True):
                self._offer(doc, sentences, expected)
            self.n_texts += len(batch)

    def _expected(self, docs: list[Doc], n: int) -> Floats2d:
        """The most mentions of each rare type that any component expects. (n_sentences, n_types)"""
        most = np.zeros((n, len(self.types)))
        for component in expected_mentions(docs):
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


class Proposal(NamedTuple):
    """A sentence to label."""

    unit: Unit
    chosen_for: str  # a type, or "random"
    score: float  # expected mentions of the type; of a random one, of all rare types


def share_out(n: int, types: list[str], given: Mapping[str, int]) -> dict[str, int]:
    """Labels for each type: as given, the rest in equal parts, the first types one more."""
    if not set(given) <= set(types) or sum(given.values()) > n:
        shown = ",".join(f"{t}={k}" for t, k in given.items())
        problem = f"--quota {shown} cannot be filled from {n} labels of {', '.join(types)}"
        fix = "Name rare types, with a sum of at most the labels that no random share takes."
        raise ValueError(Errors.L500.format(problem=problem, fix=fix))
    rest = [t for t in types if t not in given]
    each, more = divmod(n - sum(given.values()), len(rest)) if rest else (0, 0)
    shares = {t: each + (i < more) for i, t in enumerate(rest)}
    return {t: given.get(t, shares.get(t, 0)) for t in types}


def choose(
    scan: Scan,
    quotas: Mapping[str, int],
    n_random: int,
    penalty: float = 0.5,
    capped: Collection[str] = (),
    per_document: float = PER_DOCUMENT,
) -> list[Proposal]:
    """The proposals: the random share first, then types in turn, by what their quotas lack.

    penalty (float): How much of its score a sentence loses that is like those chosen, in [0, 1].
    capped (Collection[str]): Rankings that get no more than their quota; the others also get what a
        ranking cannot fill.
    per_document (float): Largest share of all proposals that one text of the pool may give.
    RETURNS (List[Proposal]): No text twice.
    """
    drawn = [unit for _, unit in scan.best[RANDOM].ranked()[:n_random]]
    chosen = [Proposal(unit, RANDOM, sum(unit.expected)) for unit in drawn]
    n = n_random + sum(quotas.values())
    n_documents = len({unit.document for ranked in scan.best.values() for _, _, unit in ranked.heap})
    most = max(1, round(per_document * n), -(-n // max(1, n_documents)))
    ranked = [(name, *row) for name in quotas for row in scan.best[name].ranked()]
    names, scores = np.array([name for name, *_ in ranked]), np.array([score for _, score, _ in ranked])
    units, is_left = [unit for *_, unit in ranked], np.ones(len(ranked), dtype=bool)
    # likeness is to what the candidates are not all like anyway
    mean = np.mean([unit.vector for unit in units], axis=0) if units else 0.0
    rows = np.array([_direction(unit, mean) for unit in units])
    likeness = np.zeros((len(units), 0))  # to the chosen ones that are most like each candidate
    texts, documents, counts = set[str](), Counter[str](), Counter[str]()  # lots ask for no document
    new, open_to = drawn, [name for name, k in quotas.items() if k]
    while open_to and len(chosen) < n:
        if new and units:
            texts.update(skeleton(unit.text) for unit in new)
            near = rows @ np.stack([_direction(unit, mean) for unit in new]).T
            likeness = np.sort(np.concatenate([likeness, near], axis=1), axis=1)[:, -NEIGHBOURS:]
            is_left &= likeness[:, -1] < NEAR
            new = []
        name = max(open_to, key=lambda label: (quotas[label] - counts[label]) / quotas[label])
        left = np.flatnonzero(is_left & (names == name))
        if not len(left):
            open_to.remove(name)
            continue
        lost = np.maximum(likeness[left].mean(axis=1), 0.0) if likeness.shape[1] else 0.0
        at = left[np.argmax(scores[left] * (1 - penalty * lost))]
        is_left[at], unit = False, units[at]
        if skeleton(unit.text) in texts or documents[unit.document] >= most:
            continue
        counts[name] += 1
        if name in capped and counts[name] == quotas[name]:
            open_to.remove(name)
        chosen.append(Proposal(unit, name, float(scores[at])))
        documents[unit.document] += 1
        new = [unit]
    return chosen


def _direction(unit: Unit, mean: Floats1d | float) -> Floats1d:
    """The vector of a sentence less the mean, of unit length."""
    centred = np.asarray(unit.vector) - mean
    return centred / max(float(np.linalg.norm(centred)), 1e-12)
