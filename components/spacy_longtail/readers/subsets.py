"""Readers that draw some sentences of a corpus, for studies of small and of imbalanced corpora."""

import random
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.training import Example
from thinc.types import Ints1d

from ..errors import Errors, Warnings
from ..settings import finite, seed_of, whole
from .base import Reader, WrappingReader, generator
from .joining import check_join, join_size, joined
from .sentence_table import SentenceTable

TOLERANCE = 0.05  # of the share asked for
N_EXCHANGES = 20_000  # tried before the share is given up
N_CANDIDATES = 64  # sentences outside that an exchange chooses from


class Subset(WrappingReader):
    """Some sentences of a corpus, the same at each call, in corpus order, joined to documents."""

    counts = True

    def __init__(
        self, corpus: Reader, n_sentences: int, join: int | None, partition: int, seed: int
    ) -> None:
        super().__init__(corpus)
        self.n_sentences = whole("n_sentences", n_sentences, "Name how many to draw.", low=1)
        self.join = check_join(join)
        self.partition = whole("partition", partition, "0 is the first.")
        self.seed = seed_of(seed)
        self._fitted: _Drawn | None = None

    @property
    def _name(self) -> str:
        return f"longtail.{type(self).__name__}.v1"

    def examples(self, nlp: Language) -> Iterator[Example]:
        """The drawn sentences."""
        if self._fitted is None:
            counts = self._count(nlp)
            if self.n_sentences > len(counts):
                problem = f"{self.n_sentences} sentences are asked for, the corpus has {len(counts)}"
                raise ValueError(Errors.L120.format(who=self._name, problem=problem))
            drawn = np.zeros(len(counts), dtype=bool)
            drawn[self._draw(counts, generator(self.seed, self.partition))] = True
            self._warn(counts, drawn)
            self._fitted = _Drawn(drawn, join_size(self.join, counts), counts.sizes)
        drawn, size, sizes = self._fitted
        counted = self._counted(nlp, sizes)
        yield from joined((eg for eg, kept in zip(counted, drawn, strict=True) if kept), size)

    @abstractmethod
    def _draw(self, counts: SentenceTable, rng: random.Random) -> Ints1d:
        """(n_drawn,) the sentences to yield."""

    def _warn(self, counts: SentenceTable, drawn: np.ndarray) -> None:
        tokens = counts.tokens_of(drawn.astype("float64"))
        if lost := sorted(t for t, n in tokens.items() if not n):
            who = f"{self._name} (seed {self.seed}, partition {self.partition})"
            problem = f"draws no mention of {', '.join(lost)}"
            warnings.warn(Warnings.W012.format(who=who, problem=problem), stacklevel=2)


class _Drawn(NamedTuple):
    drawn: np.ndarray  # (n_sentences,) whether it was
    join: int  # sentences per training document
    sizes: Sequence[int]  # (n_sentences,) tokens of each


class LowResourceCorpus(Subset):
    """A seeded draw of few sentences, uniform, those without entities too.

    A larger draw of the same seed and partition holds every smaller one.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    n_sentences (int): Sentences to draw.
    join (Optional[int]): Drawn sentences that make one document; null takes the corpus's mean
        sentences per document, at most 10. 1 yields single sentences.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    SOURCE: Nguyen et al. 2023, section on low-resource settings; nesting is ours (docs/methods.md,
        "Subsets of a corpus").
    """

    def __init__(
        self,
        corpus: Reader,
        n_sentences: int,
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, n_sentences, join, partition, seed)

    def _draw(self, counts: SentenceTable, rng: random.Random) -> Ints1d:
        order = list(range(len(counts)))
        rng.shuffle(order)
        return np.asarray(order[: self.n_sentences], dtype="int64")


class ImbalancedCorpus(Subset):
    """A seeded draw of sentences in which entities have a given share of the tokens.

    From a uniform draw, a sentence inside is exchanged for one outside of about its length, whenever
    that brings the share nearer, until it is within a twentieth of what was asked for.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    entity_share (float): Entity tokens of all tokens, between 0 and 1, such as 0.01 to 0.20.
    n_sentences (int): Sentences to draw.
    join (Optional[int]): Drawn sentences that make one document; null takes the corpus's mean
        sentences per document, at most 10. 1 yields single sentences.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    SOURCE: Nguyen et al. 2023, Figure 4; its algorithm is unstated, this one is ours (docs/methods.md,
        "Subsets of a corpus").
    """

    def __init__(
        self,
        corpus: Reader,
        entity_share: float,
        n_sentences: int = 100,
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, n_sentences, join, partition, seed)
        rule, fix = "a share above 0 and at most 1", "0.05 is five percent."
        self.entity_share = finite("entity_share", entity_share, rule, fix, low=1e-9, high=1)

    def _draw(self, counts: SentenceTable, rng: random.Random) -> Ints1d:
        order = np.asarray(rng.sample(range(len(counts)), len(counts)), dtype="int64")
        inside, outside = order[: self.n_sentences], order[self.n_sentences :]
        lengths, entity = counts.lengths, counts.entity_tokens
        n_tokens, n_entity = int(lengths[inside].sum()), int(entity[inside].sum())
        wanted = self.entity_share
        for _ in range(N_EXCHANGES):
            gap = abs(n_entity / max(n_tokens, 1) - wanted)
            if gap <= TOLERANCE * wanted:
                return inside
            if not len(outside):
                break
            i = rng.randrange(len(inside))
            longer = lengths[outside] - lengths[inside[i]]
            alike = np.flatnonzero(np.abs(longer) <= max(2.0, 0.2 * lengths[inside[i]]))
            if not len(alike):
                continue
            candidates = alike[[rng.randrange(len(alike)) for _ in range(N_CANDIDATES)]]
            gained = entity[outside[candidates]] - entity[inside[i]]
            n_after = np.maximum(n_tokens + longer[candidates], 1)
            gaps = np.abs((n_entity + gained) / n_after - wanted)
            best = int(np.argmin(gaps))
            if gaps[best] < gap:
                o = candidates[best]
                inside[i], outside[o] = outside[o], inside[i]
                n_tokens, n_entity = n_tokens + int(longer[o]), n_entity + int(gained[best])
        reached, share = n_entity / max(n_tokens, 1), entity.sum() / max(lengths.sum(), 1)
        problem = (
            f"reached an entity-token share of {reached:.3g}, not {wanted:.3g}, with "
            f"{self.n_sentences} sentences of a corpus with {share:.3g}"
        )
        raise ValueError(Errors.L120.format(who=self._name, problem=problem))
