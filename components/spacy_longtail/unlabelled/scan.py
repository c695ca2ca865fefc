"""Candidates from a pass over a pool, and the choice of sentences to propose from them."""

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
from ..sentences import sentence_lengths, sums_by_sentence
from .expectations import KEY
from .known import KnownSentences, new_sentences
from .units import PassCounts, Unit, pseudo_random

RANDOM = "random"  # name of the random sample
MIN_EXPECTED = 1e-4  # expected mentions of a candidate
NEAR = 0.97  # cosine of centred vectors above which sentences are near-duplicates
NEIGHBOURS = 3  # number of similar proposals whose mean similarity is the penalty
PER_DOCUMENT = 0.1  # maximum fraction of the proposals from one text of the pool

Kept = TypeVar("Kept")


@dataclass
class Best(Generic[Kept]):
    """Bounded heap of the sentences with the highest scores. Equal texts count once.

    size (int): Maximum number of sentences.
    """

    size: int
    heap: list[tuple[float, int, Kept]] = field(default_factory=list)
    scores: dict[int, float] = field(default_factory=dict)  # scores in the heap, by key

    @property
    def floor(self) -> float:
        """Score that a sentence has to exceed to be stored."""
        if len(self.heap) < self.size:
            return -np.inf
        return self.heap[0][0] if self.heap else np.inf

    def add(self, score: float, key: int, unit: Kept) -> None:
        """Store a sentence if its score is high enough.

        score (float): The score. Of equal texts, the highest score counts.
        key (int): Key of the text, of `text_key`.
        unit (Kept): The sentence.
        """
        if key in self.scores:
            if score <= self.scores[key]:
                return
            self.heap = [row for row in self.heap if row[1] != key]  # rare enough to search them all
            heapq.heapify(self.heap)
        self.scores[key] = score
        heapq.heappush(self.heap, (score, key, unit))
        if len(self.heap) > self.size:
            _, dropped, _ = heapq.heappop(self.heap)
            del self.scores[dropped]

    def ranked(self) -> list[tuple[float, Kept]]:
        """Return scores and sentences, the highest score first."""
        return [(score, unit) for score, _, unit in sorted(self.heap, key=lambda row: (-row[0], row[1]))]


class Scan:
    """Pass over a pool that collects candidates.

    types (List[str]): Rare types to look for.
    sizes (Mapping[str, int]): Number of candidates for each type, and for `RANDOM`.
    known (Optional[KnownSentences]): Sentences that are excluded.
    seed (int): Random seed of the random sample.
    """

    def __init__(
        self,
        types: list[str],
        sizes: Mapping[str, int],
        known: KnownSentences | None = None,
        seed: int = 0,
    ) -> None:
        self.types, self.known, self.seed = types, known or KnownSentences(), seed
        self.best: dict[str, Best[Unit]] = {name: Best(n) for name, n in sizes.items()}
        self.expected: Floats1d = np.zeros(len(types))  # mentions in the pool
        self.counts = PassCounts()

    def read(self, docs: Iterable[Doc]) -> None:
        """Store the sentences that are among the best so far, and sum up expected mentions.

        docs (Iterable[Doc]): Documents with the expectations of `record_expectations`.
        """
        for doc in docs:
            rows = self._expected(doc)
            for i, sentence in new_sentences(doc, self.known, self.counts):
                self.expected += rows[i]
                expected = zip(self.types, rows[i].tolist(), strict=True)
                scores = {label: score for label, score in expected if score > MIN_EXPECTED}
                scores[RANDOM] = 1.0 - pseudo_random(sentence.text, self.seed)
                into = [name for name, score in scores.items() if score > self.best[name].floor]
                if into:
                    unit = Unit.of(sentence, rows[i])
                    for name in into:
                        self.best[name].add(scores[name], text_key(sentence.text), unit)

    def _expected(self, doc: Doc) -> Floats2d:
        """Return the expected mentions of each rare type, shape (n_sentences, n_types).

        Where several components expect mentions of a type, the maximum counts.
        """
        highest = np.zeros((len(self.types), len(sentence_lengths(doc))))
        for component in doc.user_data[KEY].values():
            by_sentence = sums_by_sentence([doc], component["mentions"])
            for label, mentions in zip(component["labels"], by_sentence.T, strict=True):
                if label in self.types:
                    i = self.types.index(label)
                    highest[i] = np.maximum(highest[i], mentions)
        return highest.T


class Proposal(NamedTuple):
    """Sentence to label."""

    unit: Unit
    chosen_for: str  # a type, or "random"
    score: float  # expected mentions of the type; for a random one, of all rare types


def share_out(n: int, types: list[str], given: Mapping[str, int]) -> dict[str, int]:
    """Return the number of sentences for each type.

    n (int): Number of sentences in total.
    types (List[str]): The types.
    given (Mapping[str, int]): Numbers for some types. The others share the rest equally.
    RAISES (ValueError): If the given numbers are for other types, negative, or exceed the total.
    """
    if not set(given) <= set(types) or sum(given.values()) > n or min(given.values(), default=0) < 0:
        shown = ",".join(f"{t}={k}" for t, k in given.items())
        raise ValueError(
            Errors.L500.format(
                problem=f"--quota {shown} does not fit {n} sentences for {', '.join(types)}",
                fix="Name rare types with quotas of at least 0, or reduce the quotas or --random.",
            )
        )
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
    """Choose the proposals: the random sample first, then for types in turn.

    The next type is the one whose quota has the largest unfilled fraction. Its next proposal is the
    candidate with the highest score, after a penalty for similarity to earlier proposals.

    scan (Scan): The candidates.
    quotas (Mapping[str, int]): Number of sentences for each type.
    n_random (int): Size of the random sample.
    penalty (float): Fraction of its score that a sentence loses for full similarity, in [0, 1].
    capped (Collection[str]): Types that get at most their quota. Others may also get the sentences
        that a type lacks.
    per_document (float): Maximum fraction of the proposals from one text of the pool.
    RETURNS (List[Proposal]): The proposals, without equal texts.
    """
    drawn = [unit for _, unit in scan.best[RANDOM].ranked()[:n_random]]
    chosen = [Proposal(unit, RANDOM, sum(unit.expected)) for unit in drawn]
    n = n_random + sum(quotas.values())
    n_documents = len({unit.document for ranked in scan.best.values() for _, _, unit in ranked.heap})
    max_per_document = max(1, round(per_document * n), -(-n // max(1, n_documents)))
    ranked = [(name, *row) for name in quotas for row in scan.best[name].ranked()]
    names, scores = np.array([name for name, *_ in ranked]), np.array([score for _, score, _ in ranked])
    units, is_left = [unit for *_, unit in ranked], np.ones(len(ranked), dtype=bool)
    # similarity is that of centred vectors, since the candidates of a pool have much in common
    mean = np.mean([unit.vector for unit in units], axis=0) if units else 0.0
    rows = np.array([_direction(unit, mean) for unit in units])
    similarity = np.zeros((len(units), 0))  # of each candidate to its most similar proposals
    texts, documents, counts = set[str](), Counter[str](), Counter[str]()
    new, open_to = drawn, [name for name, k in quotas.items() if k]
    while open_to and len(chosen) < n:
        if new and units:
            texts.update(skeleton(unit.text) for unit in new)
            directions = np.stack([_direction(unit, mean) for unit in new])
            similarity = np.concatenate([similarity, rows @ directions.T], axis=1)
            similarity = np.sort(similarity, axis=1)[:, -NEIGHBOURS:]
            is_left &= similarity[:, -1] < NEAR
            new = []
        name = max(open_to, key=lambda label: (quotas[label] - counts[label]) / quotas[label])
        left = np.flatnonzero(is_left & (names == name))
        if not len(left):
            open_to.remove(name)
            continue
        lost = np.maximum(similarity[left].mean(axis=1), 0.0) if similarity.shape[1] else 0.0
        at = left[np.argmax(scores[left] * (1 - penalty * lost))]
        is_left[at], unit = False, units[at]
        if skeleton(unit.text) in texts or documents[unit.document] >= max_per_document:
            continue
        counts[name] += 1
        if name in capped and counts[name] == quotas[name]:
            open_to.remove(name)
        chosen.append(Proposal(unit, name, float(scores[at])))
        documents[unit.document] += 1
        new = [unit]
    return chosen


def _direction(unit: Unit, mean: Floats1d | float) -> Floats1d:
    """Return the centred vector of a sentence, of unit length."""
    centred = np.asarray(unit.vector) - mean
    return centred / max(float(np.linalg.norm(centred)), 1e-12)
