"""Readers that draw some sentences of a corpus, for studies of small and of imbalanced corpora."""

import random
import warnings
from abc import abstractmethod

import numpy as np
from thinc.types import Floats1d, Ints1d

from ..corpus.counts import CorpusCounts
from ..errors import Errors, Warnings
from ..settings import finite, whole
from ..types import SentenceCounts
from .base import Reader
from .sampled import SampledCorpus, generator

TOLERANCE = 0.05  # of the share asked for
N_EXCHANGES = 20_000  # tried before the share is given up
N_CANDIDATES = 64  # sentences outside that an exchange chooses from


class Subset(SampledCorpus):
    """Some sentences of a corpus, the same at each call, in corpus order, joined to documents."""

    def __init__(
        self,
        corpus: Reader,
        n_sentences: int,
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, join, seed)
        self.n_sentences = whole("n_sentences", n_sentences, "Name how many to draw.", low=1)
        self.partition = whole("partition", partition, "0 is the first.")

    def copies_of(self, total: CorpusCounts, sentences: list[SentenceCounts]) -> Floats1d:
        n = len(sentences)
        if self.n_sentences > n:
            problem = f"{self.n_sentences} sentences are asked for, the corpus has {n}"
            raise ValueError(Errors.L120.format(who=self.name, problem=problem))
        places = self.draw(sentences, generator(self.seed, self.partition))
        drawn = np.zeros(n)
        drawn[places] = 1.0
        kept = {label for i in places.tolist() for label in sentences[i].tokens}
        if lost := sorted(set(total.tokens) - kept):
            who = f"{self.name} (seed {self.seed}, partition {self.partition})"
            problem = f"draws no mention of {', '.join(lost)}"
            warnings.warn(Warnings.W012.format(who=who, problem=problem), stacklevel=2)
        return drawn

    @abstractmethod
    def draw(self, sentences: list[SentenceCounts], rng: random.Random) -> Ints1d:
        """(n_drawn,) the sentences to yield."""


class LowResourceCorpus(Subset):
    """A seeded draw of few sentences, uniform, those without entities too.

    A larger draw of the same seed and partition holds every smaller one.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    n_sentences (int): Sentences to draw.
    join (Optional[int]): Drawn sentences of one document; null takes the corpus's mean, at most 10.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    SOURCE: Nguyen et al. 2023, section on low-resource settings; nesting is ours (docs/methods.md,
        "Subsets of a corpus").
    """

    def draw(self, sentences: list[SentenceCounts], rng: random.Random) -> Ints1d:
        order = list(range(len(sentences)))
        rng.shuffle(order)
        return np.asarray(order[: self.n_sentences], dtype="int64")


class ImbalancedCorpus(Subset):
    """A seeded draw of sentences in which entities have a given share of the tokens.

    From a uniform draw, a sentence inside is exchanged for one outside of about its length,
    whenever that brings the share nearer, until it is within a twentieth of what was asked for.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    entity_share (float): Entity tokens of all tokens, between 0 and 1, such as 0.01 to 0.20.
    n_sentences (int): Sentences to draw.
    join (Optional[int]): Drawn sentences of one document; null takes the corpus's mean, at most 10.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    SOURCE: Nguyen et al. 2023, Figure 4; its algorithm is unstated, this one is ours
        (docs/methods.md, "Subsets of a corpus").
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

    def draw(self, sentences: list[SentenceCounts], rng: random.Random) -> Ints1d:
        n = len(sentences)
        order = np.asarray(rng.sample(range(n), n), dtype="int64")
        inside, outside = order[: self.n_sentences], order[self.n_sentences :]
        lengths = np.array([sentence.length for sentence in sentences])
        entity = np.array([sum(sentence.tokens.values()) for sentence in sentences])
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
        text = f"is out of reach with {self.n_sentences} sentences of a corpus with"
        share = entity.sum() / max(lengths.sum(), 1)
        problem = f"an entity share of {wanted:.3g} {text} {share:.3g}"
        raise ValueError(Errors.L120.format(who=self.name, problem=problem))
