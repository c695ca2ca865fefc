"""A pass over a pool that keeps, in bounded memory, the sentences that may be proposed."""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.types import Floats1d, Floats2d

from ..pipes.gate.expected import expected_mentions
from .pool import PLACE
from .terms import MATCHED, Likeness, Terms
from .units import Unit, lot, sentence_vectors, sentences_of, text_key, unit_of

RANDOM = "random"  # the share that is drawn by lot
LEAST = 1e-4  # expected mentions of a sentence that is worth keeping

Kept = TypeVar("Kept")


@dataclass
class Best(Generic[Kept]):
    """The sentences that score highest, each text once, where it does best: a heap of bounded size."""

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

    def as_rows(self, data_of: Callable[[Kept], object]) -> list[list[object]]:
        """What is kept, as msgpack holds it. data_of (Callable): Of a sentence."""
        return [[score, str(key), data_of(unit)] for score, key, unit in self.heap]

    def take(self, rows: list[list[Any]], made: Callable[[Any], Kept]) -> None:
        """Become what `as_rows` gave. made (Callable): The sentence of its data."""
        self.heap = [(score, int(key), made(data)) for score, key, data in rows]
        heapq.heapify(self.heap)
        self.scores = {key: score for score, key, _ in self.heap}


@dataclass
class Scan:
    """What a pass has found so far.

    types (List[str]): The rare types. best (Dict[str, Best]): By ranking: a type, or `RANDOM`.
    """

    types: list[str]
    best: dict[str, Best[Unit]]
    n_texts: int = 0  # of the pool, read
    n_sentences: int = 0
    n_known: int = 0  # sentences that the corpus has already
    expected: list[float] = field(default_factory=list)  # mentions of each type in what was read

    @classmethod
    def of(cls, types: list[str], sizes: dict[str, int]) -> "Scan":
        return cls(types, {name: Best(n) for name, n in sizes.items()}, expected=[0.0] * len(types))

    def as_data(self) -> dict[str, Any]:
        """As `passes.State` has it."""
        return {
            "counts": [self.n_texts, self.n_sentences, self.n_known],
            "expected": self.expected,
            "best": {name: own.as_rows(asdict) for name, own in self.best.items()},
        }

    def take(self, data: dict[str, Any]) -> None:
        """As `passes.State` has it."""
        self.n_texts, self.n_sentences, self.n_known = data["counts"]
        self.expected = data["expected"]
        for name, rows in data["best"].items():
            self.best[name].take(rows, unit_of)


class Signs(NamedTuple):
    """What counts beside a pipeline's probabilities."""

    known: Collection[int]  # keys of sentences that need no label
    terms: Terms | None  # phrases of types
    likeness: Likeness  # to descriptions of types
    seed: int  # fixes the lots of the random share


def scan_pool(
    scan: Scan,
    batches: Iterable[list[Doc]],
    nlp: Language,
    signs: Signs,
    every: Callable[[], None] = lambda: None,
) -> Scan:
    """Count the expected mentions of documents that a pipeline has processed, and keep the best.

    scan (Scan): Where to begin; it is changed. batches (Iterable[List[Doc]]): In the order of the pool.
    nlp (Language): The pipeline that has processed them.
    signs (Signs): What else counts. every (Callable): Called after each batch.
    """
    for batch in batches:
        own = [sentences_of(doc) for doc in batch]
        expected = _expected(batch, own, nlp, scan.types)
        before = scan.n_sentences, scan.n_known, list(scan.expected)
        at = 0
        try:
            for doc, bounds in zip(batch, own, strict=True):
                rows = expected[at : at + len(bounds)]
                at += len(bounds)
                _keep(scan, doc, bounds, rows, signs)
        except BaseException:  # an interrupted batch is read again, and counted then
            scan.n_sentences, scan.n_known, scan.expected = before
            raise
        scan.n_texts += len(batch)
        every()
    return scan


def _expected(
    docs: list[Doc],
    bounds: list[list[tuple[int, int]]],
    nlp: Language,
    types: list[str],
) -> Floats2d:
    """The most mentions of each rare type that any component expects. (n_sentences, n_types)"""
    n = sum(map(len, bounds))
    found = np.zeros((n, len(types)))
    if not n:
        return found
    for component in expected_mentions(nlp, docs):
        for i, label in enumerate(component.labels):
            if label in types:
                column = types.index(label)
                found[:, column] = np.maximum(found[:, column], component.mentions[:, i])
    return found


def _keep(
    scan: Scan,
    doc: Doc,
    bounds: list[tuple[int, int]],
    expected: Floats2d,
    signs: Signs,
) -> None:
    """Offer the sentences of a document to every ranking."""
    matches = [] if signs.terms is None else signs.terms.find(doc)
    named: list[list[str]] = [[] for _ in bounds]
    for label, start, end in matches:
        i = bisect_right(bounds, start, key=itemgetter(0)) - 1
        if i >= 0 and end <= bounds[i][1]:
            named[i].append(f"{label} {doc[start:end].text}")
            column = scan.types.index(label)
            expected[i, column] = max(expected[i, column], MATCHED)
    ranked = expected + signs.likeness.ties(doc, bounds)
    scores = dict(zip(scan.types, ranked.T, strict=True))
    vectors: list[Floats1d] | None = None
    for i, (start, end) in enumerate(bounds):
        if start == end:
            continue
        text = doc[start:end].text
        key = text_key(text)
        scan.n_sentences += 1
        if key in signs.known:
            scan.n_known += 1
            continue
        for column, value in enumerate(expected[i].tolist()):
            scan.expected[column] += value
        wanted = {name: float(own[i]) for name, own in scores.items() if own[i] > LEAST}
        wanted[RANDOM] = 1.0 - lot(text, signs.seed)
        into = [name for name, value in wanted.items() if value > scan.best[name].floor]
        if not into:
            continue
        if vectors is None:
            vectors = sentence_vectors(doc, bounds)
        unit = _unit(doc, start, end, expected[i], vectors[i], named[i])
        for name in into:
            scan.best[name].add(wanted[name], key, unit)


def _unit(
    doc: Doc, start: int, end: int, expected: Floats1d, vector: Floats1d, terms: list[str]
) -> Unit:
    tokens = doc[start:end]
    about = {str(k): v for k, v in doc.user_data.items() if isinstance(k, str)}
    place = str(about.get(PLACE, ""))
    return Unit(
        words=[token.text for token in tokens],
        spaces=[bool(token.whitespace_) for token in tokens],
        ents=[
            (ent.start - start, ent.end - start, ent.label_)
            for ent in doc.ents
            if start <= ent.start and ent.end <= end
        ],
        expected=[round(float(value), 4) for value in expected],
        vector=[round(float(value), 4) for value in vector],
        document=place,
        about=about,
        terms=terms,
    )
