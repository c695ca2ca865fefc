"""Readers that sample sentences of a corpus, for studies of small and imbalanced corpora."""

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
    """Sample of sentences, the same at each call, in corpus order, joined to documents."""

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
        """Return the indices of the sentences in the sample, shape (n_drawn,)."""


class LowResourceCorpus(Subset):
    """Random sample of few sentences of a corpus, including sentences without entities.

    A larger sample of the same seed and partition contains every smaller one.

    corpus (Callable): Reader to sample from, a function of nlp to examples, such as
        spacy.Corpus.v1.
    n_sentences (int): Number of sentences in the sample.
    join (Optional[int]): Number of sentences per training document; null is the mean of the corpus,
        at most 10.
    partition (int): Number of the sample: each gives another one for the same seed.
    seed (int): Random seed.
    RETURNS (Callable): The reader, a function of nlp to examples.
    RAISES (ValueError): If the corpus has fewer sentences (L120).
    SOURCE: Nguyen et al. 2023, section on low-resource settings; nesting is ours (docs/methods.md,
        "Subsets of a corpus").
    EXAMPLE:
        >>> from spacy_longtail.readers import LowResourceCorpus
        >>> corpus = LowResourceCorpus(lambda nlp: examples, n_sentences=2, join=1, seed=3)
        >>> [eg.reference.text for eg in corpus(nlp)]
        ['Hurricane Ida came . ', 'Sandy hit Key West . ']
    """

    def draw(self, sentences: list[SentenceCounts], rng: random.Random) -> Ints1d:
        order = list(range(len(sentences)))
        rng.shuffle(order)
        return np.asarray(order[: self.n_sentences], dtype="int64")


class ImbalancedCorpus(Subset):
    """Random sample of sentences in which a given share of the tokens belongs to entities.

    It starts from a uniform sample. A sentence of it is exchanged for one of about the same length
    outside, whenever that brings the share closer, until the share is within 5 % of the given one.

    corpus (Callable): Reader to sample from, a function of nlp to examples, such as
        spacy.Corpus.v1.
    entity_share (float): Share of entity tokens among all tokens, above 0 and at most 1.
    n_sentences (int): Number of sentences in the sample.
    join (Optional[int]): Number of sentences per training document; null is the mean of the corpus,
        at most 10.
    partition (int): Number of the sample: each gives another one for the same seed.
    seed (int): Random seed.
    RETURNS (Callable): The reader, a function of nlp to examples.
    RAISES (ValueError): If the corpus is too small, or cannot have the share (L120).
    SOURCE: Nguyen et al. 2023, Figure 4; its algorithm is unstated, this one is ours
        (docs/methods.md, "Subsets of a corpus").
    EXAMPLE:
        >>> from spacy_longtail.readers import ImbalancedCorpus
        >>> read, settings = lambda nlp: examples, {"n_sentences": 2, "join": 1}
        >>> corpus = ImbalancedCorpus(read, entity_share=0.22, **settings)
        >>> [eg.reference.text for eg in corpus(nlp)]
        ['Hurricane Ida came . ', 'It rained all day . ']
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
        raise ValueError(
            Errors.L120.format(
                who=self.name, problem=f"an entity share of {wanted:.3g} {text} {share:.3g}"
            )
        )
