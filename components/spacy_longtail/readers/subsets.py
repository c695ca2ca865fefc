"""Readers that draw some sentences of a corpus, for studies of small and of imbalanced corpora."""

import random
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.training import Example
from thinc.types import Ints1d

from ..errors import Errors, Warnings
from ..settings import finite, seed_of, whole
from .base import AUGMENTED, Reader, Unit, WrappingReader, generator, show_once
from .joining import check_join, join_size, joined
from .unit_counts import UnitCounts

TOLERANCE = 0.05  # of the share asked for
N_EXCHANGES = 20_000  # tried before the share is given up
SIZE_FIX = "Name how many to draw."
N_CANDIDATES = 64  # sentences outside that an exchange chooses from


class Subset(WrappingReader):
    """Some units of a corpus, the same at each call, in corpus order, joined to documents."""

    refuses: ClassVar[Mapping[str, str]] = {
        "ResampledCorpus": "it would draw among copies. Wrap them the other way round",
        AUGMENTED: "it would draw among rewritten sentences. Augment what is drawn: "
        "give the augmenter to a reader around this one",
    }

    def __init__(self, corpus: Reader, unit: Unit, join: int | None, partition: int, seed: int) -> None:
        super().__init__(corpus)
        self.unit: Unit = unit
        self.join = check_join(join, unit)
        self.partition = whole("partition", partition, "0 is the first.")
        self.seed = seed_of(seed)
        self._fitted: _Fitted | None = None

    @property
    def _name(self) -> str:
        return f"longtail.{type(self).__name__}.v1"

    def examples(self, nlp: Language) -> Iterator[Example]:
        """The drawn units."""
        if self._fitted is None:
            counts = self._count(nlp, self.unit)
            drawn = np.zeros(len(counts), dtype=bool)
            drawn[self._draw(counts, generator(self.seed, self.partition))] = True
            self._report(counts, drawn)
            self._fitted = _Fitted(drawn, join_size(self.join, counts), counts.sizes)
        drawn, size, sizes = self._fitted
        counted = self._counted_units(nlp, self.unit, sizes)
        yield from joined((eg for eg, kept in zip(counted, drawn, strict=True) if kept), size)

    @abstractmethod
    def _draw(self, counts: UnitCounts, rng: random.Random) -> Ints1d:
        """(n_drawn,) the units to yield."""

    def _report(self, counts: UnitCounts, drawn: np.ndarray) -> None:
        if not drawn.any():
            return
        lengths, entity, unit = counts.lengths, counts.entity_tokens, self.unit
        tokens = counts.tokens_of(drawn.astype("float64"))
        lost = sorted(t for t, n in tokens.items() if not n)
        share, all_share = (entity[i].sum() / lengths[i].sum() for i in (drawn, slice(None)))
        who = f"{self._name} (seed {self.seed}, partition {self.partition})"
        show_once(
            f"{who}: {drawn.sum()} of {len(drawn)} {unit}s, {100 * share:.2f} % of tokens in "
            f"entities (corpus {100 * all_share:.2f} %), {lengths[drawn].mean():.1f} tokens a "
            f"{unit} (corpus {lengths.mean():.1f}), {len(tokens) - len(lost)} of {len(tokens)} types"
        )
        if lost:
            problem = f"draws no mention of {', '.join(lost)}"
            warnings.warn(Warnings.W012.format(who=who, problem=problem), stacklevel=2)


class _Fitted(NamedTuple):
    drawn: np.ndarray  # (n_units,) whether it was
    join: int  # units per training document
    sizes: Sequence[int]  # (n_units,) tokens of each


class LowResourceCorpus(Subset):
    """A seeded draw of few sentences: N of them, or k mentions of each type.

    With `n_sentences` the sentences are drawn uniformly, those without entities too, and a larger draw
    of the same seed and partition holds every smaller one. With `mentions_per_label` the shuffled
    sentences are gone through, and one is taken if it has a type that still lacks mentions; sentences
    without entities follow in the corpus's proportion.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    n_sentences (Optional[int]): Sentences (or documents, by `unit`) to draw.
    mentions_per_label (Optional[int]): Mentions that each type gets at least, if it has as many.
    unit (str): "sentence" splits documents where sentence boundaries are annotated; "doc" keeps them.
    join (Optional[int]): Drawn sentences that make one document; null takes the corpus's mean
        sentences per document, at most 10. 1 yields single sentences.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    SOURCE: Nguyen et al. 2023, section on low-resource settings; nesting is ours (docs/methods.md,
        "Subsets of a corpus").
    """

    n_sentences: int | None
    mentions_per_label: int | None

    def __init__(
        self,
        corpus: Reader,
        n_sentences: int | None = None,
        mentions_per_label: int | None = None,
        unit: Unit = "sentence",
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, unit, join, partition, seed)
        if (n_sentences is None) == (mentions_per_label is None):
            rule, given = "null where 'mentions_per_label' is given, else a number", n_sentences
            raise ValueError(
                Errors.L001.format(name="n_sentences", rule=rule, value=given, fix=SIZE_FIX)
            )
        for name, value in (("n_sentences", n_sentences), ("mentions_per_label", mentions_per_label)):
            setattr(self, name, None if value is None else whole(name, value, SIZE_FIX, low=1))

    def _draw(self, counts: UnitCounts, rng: random.Random) -> Ints1d:
        order = list(range(len(counts)))
        rng.shuffle(order)
        if self.n_sentences is None:
            return self._with_mentions(counts, order)
        check_size(self._name, self.n_sentences, counts, self.unit)
        return np.asarray(order[: self.n_sentences], dtype="int64")

    def _with_mentions(self, counts: UnitCounts, order: list[int]) -> Ints1d:
        if len(counts) and not counts.total.n_entity_tokens:
            problem = f"none of {len(counts)} {self.unit}s has an entity"
            raise ValueError(Errors.L120.format(who=self._name, problem=problem))
        wanted = int(self.mentions_per_label or 0)
        have = dict.fromkeys(counts.total.labels, 0)
        taken = []
        for i in order:
            mentions = counts[i].mentions
            if any(have[t] < wanted for t in mentions):
                taken.append(i)
                for label, n in mentions.items():
                    have[label] += n
        short = [f"{n} of {t}" for t, n in have.items() if n < wanted]
        if short:
            problem = f"finds less than {wanted} mentions: {', '.join(short)}"
            warnings.warn(Warnings.W012.format(who=self._name, problem=problem), stacklevel=2)
        has_entity = counts.entity_tokens > 0
        bare = [i for i in order if not has_entity[i]]
        per_taken = len(bare) / max(counts.total.n_entity_units, 1)
        return np.asarray(taken + bare[: round(per_taken * len(taken))], dtype="int64")


class ImbalancedCorpus(Subset):
    """A seeded draw of sentences in which entities have a given share of the tokens.

    From a uniform draw, a sentence inside is exchanged for one outside of about its length, whenever
    that brings the share nearer, until it is within a twentieth of what was asked for.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    entity_share (float): Entity tokens of all tokens, between 0 and 1, such as 0.01 to 0.20.
    n_sentences (int): Sentences (or documents, by `unit`) to draw.
    unit (str): "sentence" splits documents where sentence boundaries are annotated; "doc" keeps them.
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
        unit: Unit = "sentence",
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, unit, join, partition, seed)
        rule, fix = "a share above 0 and at most 1", "0.05 is five percent."
        self.entity_share = finite("entity_share", entity_share, rule, fix, low=1e-9, high=1)
        self.n_sentences = whole("n_sentences", n_sentences, SIZE_FIX, low=1)

    def _draw(self, counts: UnitCounts, rng: random.Random) -> Ints1d:
        check_size(self._name, self.n_sentences, counts, self.unit)
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
            f"{self.n_sentences} {self.unit}s of a corpus with {share:.3g}"
        )
        raise ValueError(Errors.L120.format(who=self._name, problem=problem))


def check_size(who: str, wanted: int, counts: UnitCounts, unit: Unit) -> None:
    """Refuse to draw more than there is."""
    if wanted > len(counts):
        problem = f"{wanted} {unit}s are asked for, the corpus has {len(counts)}"
        raise ValueError(Errors.L120.format(who=who, problem=problem))
