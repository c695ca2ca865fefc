"""A pass over a pool that keeps, in bounded memory, the sentences that may be proposed."""

import heapq
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from spacy.language import Language
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from thinc.types import Floats1d, Floats2d

from ..corpus.formats.text import Place, lines, unreadable
from ..errors import Errors
from ..pipes.gate.expected import expected_mentions
from .pool import PLACE
from .units import Unit, lot, sentence_vectors, sentences_of, text_key

RANDOM = "random"  # the share that is drawn by lot
LEAST = 1e-4  # expected mentions of a sentence that is worth keeping
MATCHED = 0.5  # expected mentions of a sentence with a term
FIX = "Write TYPE, a tab and the term on each line."

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
    def of(cls, types: list[str], sizes: Mapping[str, int]) -> "Scan":
        """An empty one. sizes (Mapping[str, int]): Sentences to keep, by ranking."""
        return cls(types, {name: Best(n) for name, n in sizes.items()}, expected=[0.0] * len(types))


class Terms(NamedTuple):
    """Phrases by type, matched by lower case, and by lemma where the pipeline has lemmas."""

    matchers: list[PhraseMatcher]
    labels: frozenset[str]  # of types that have a term

    def find(self, doc: Doc) -> list[tuple[str, int, int]]:
        """Type, first token and one past the last of each match, in order."""
        matches = {match for matcher in self.matchers for match in matcher(doc)}
        name = doc.vocab.strings
        return sorted(((name[key], a, b) for key, a, b in matches), key=itemgetter(1, 2, 0))


def read_terms(path: Path, nlp: Language, types: Collection[str]) -> Terms:
    """A file of terms, which stand for a type before anybody has labelled a mention of it.

    path (Path): TYPE, a tab and the term on each line. nlp (Language): Its tokenizer cuts the terms.
    types (Collection[str]): That may be named.
    """
    pairs = []
    for i, line in enumerate(lines(path, "utf8"), 1):
        label, _, term = (part.strip() for part in line.partition("\t"))
        if term:
            pairs.append((label, term))
        elif line.strip():
            raise unreadable(Place(path, i), f"{line[:60]!r} is no type with a term", FIX)
    labels = frozenset(label for label, _ in pairs)
    if not pairs:
        raise ValueError(Errors.L403.format(path=path, fix=FIX))
    if unknown := sorted(labels - set(types)):
        problem = f"{path} has terms of {', '.join(unknown)}, and the types are {', '.join(types)}"
        raise ValueError(Errors.L500.format(problem=problem, fix="Name all with --types."))
    lemmatizes = any("token.lemma" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names)
    matchers = [PhraseMatcher(nlp.vocab, attr=a) for a in ("LOWER", "LEMMA")[: 1 + lemmatizes]]
    for label, term in pairs:
        for matcher, doc in zip(matchers, (nlp.make_doc(term), nlp(term)), strict=False):
            matcher.add(label, [doc])
    return Terms(matchers, labels)


def scan_pool(
    scan: Scan,
    batches: Iterable[list[Doc]],
    nlp: Language,
    known: Collection[int],
    terms: Terms | None,
    seed: int,
) -> Scan:
    """Count the expected mentions of documents that a pipeline has processed, and keep the best.

    scan (Scan): Where to begin; it is changed. batches (Iterable[List[Doc]]): Of documents.
    nlp (Language): The pipeline that has processed them.
    known (Collection[int]): Keys of sentences that need no label. terms (Optional[Terms]): Of types.
    seed (int): Fixes the lots of the random share.
    """
    for batch in batches:
        bounds = [sentences_of(doc) for doc in batch]
        expected = _expected(batch, sum(map(len, bounds)), nlp, scan.types)
        ends = np.cumsum([len(own) for own in bounds])
        for doc, own, rows in zip(batch, bounds, np.split(expected, ends[:-1]), strict=True):
            _keep(scan, doc, own, rows, known, terms, seed)
        scan.n_texts += len(batch)
    return scan


def _expected(docs: list[Doc], n: int, nlp: Language, types: list[str]) -> Floats2d:
    """The most mentions of each rare type that any component expects. (n_sentences, n_types)"""
    most = np.zeros((n, len(types)))
    for component in expected_mentions(nlp, docs) if n else ():
        for i, label in enumerate(component.labels):
            if label in types:
                column = types.index(label)
                most[:, column] = np.maximum(most[:, column], component.mentions[:, i])
    return most


def _keep(
    scan: Scan,
    doc: Doc,
    bounds: list[tuple[int, int]],
    expected: Floats2d,
    known: Collection[int],
    terms: Terms | None,
    seed: int,
) -> None:
    """Offer the sentences of a document to every ranking."""
    named: list[list[str]] = [[] for _ in bounds]
    for label, start, end in () if terms is None else terms.find(doc):
        i = bisect_right(bounds, start, key=itemgetter(0)) - 1
        if i >= 0 and end <= bounds[i][1]:
            named[i].append(f"{label} {doc[start:end].text}")
            column = scan.types.index(label)
            expected[i, column] = max(expected[i, column], MATCHED)
    vectors: list[Floats1d] | None = None
    for i, (start, end) in enumerate(bounds):
        if start == end:
            continue
        text = doc[start:end].text
        key = text_key(text)
        scan.n_sentences += 1
        if key in known:
            scan.n_known += 1
            continue
        scan.expected = (np.array(scan.expected) + expected[i]).tolist()
        wanted = {t: float(x) for t, x in zip(scan.types, expected[i], strict=True) if x > LEAST}
        wanted[RANDOM] = 1.0 - lot(text, seed)
        into = [name for name, value in wanted.items() if value > scan.best[name].floor]
        if not into:
            continue
        vectors = vectors or sentence_vectors(doc, bounds)
        unit = unit_of(doc, start, end, expected[i], vectors[i], named[i])
        for name in into:
            scan.best[name].add(wanted[name], key, unit)


def unit_of(
    doc: Doc, start: int, end: int, expected: Floats1d, vector: Floats1d, terms: list[str]
) -> Unit:
    """A sentence of a document. start, end (int): Its tokens. terms (List[str]): Found in it."""
    tokens = doc[start:end]
    about = {str(k): v for k, v in doc.user_data.items() if isinstance(k, str)}
    inside = (ent for ent in doc.ents if start <= ent.start and ent.end <= end)
    return Unit(
        words=[token.text for token in tokens],
        spaces=[bool(token.whitespace_) for token in tokens],
        ents=[(ent.start - start, ent.end - start, ent.label_) for ent in inside],
        expected=[round(float(value), 4) for value in expected],
        vector=[round(float(value), 4) for value in vector],
        document=str(about.get(PLACE, "")),
        about=about,
        terms=terms,
    )
