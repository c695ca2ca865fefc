"""Resampling: each sentence as often as a policy says."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Literal, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import logger
from thinc.types import Floats1d, Ints1d

from ..corpus.repeats import Repeats
from ..errors import Errors
from ..settings import seed_of, unused
from .base import Reader, WrappingReader, array_generator, generator
from .joining import check_join, join_size, joined

BUFFER = 500  # examples held back to shuffle a stream


class ResampledCorpus(WrappingReader):
    """Yield each sentence of a corpus as often as a resampling policy says.

    The corpus is read twice: a counting pass that fits the policy and keeps some 30 bytes per sentence,
    and a pass that yields. A sentence and its copies are the same object, until they are joined.

    Models that read over sentence borders must see borders in training. Trained on single sentences
    and used on documents, spaCy's HashEmbedCNN loses several points of F1 (docs/resampling.md). `join`
    therefore makes training documents of about the corpus's own number of sentences.

    corpus (Callable): The reader to resample, nlp to examples, such as spacy.Corpus.v1.
    repeats (Repeats): The policy, such as longtail.sCR.v1. Fractions of a copy are drawn, so that the
        number of sentences is the expected one to within one.
    join (Optional[int]): Resampled sentences that make one training document, in the shuffled order;
        null takes the corpus's mean sentences per document, at most 10. 1 yields single sentences.
    mode (str): "repeat" yields every copy. "sample" draws as many sentences per epoch as the corpus
        has, with replacement and in proportion to their copies; it needs [training] max_epochs = -1.
    augmenter (Optional[Callable]): A spaCy augmenter for copies 2..n; null leaves copies identical.
    seed (int): Fixes the draws and the order. Call i of one instance uses (seed, i).
    SOURCE: Wang & Wang 2022; mode "sample" is ours (docs/methods.md, "Resampling").
    """

    counts = copies = True

    def __init__(
        self,
        corpus: Reader,
        repeats: Repeats,
        join: int | None = None,
        mode: Literal["repeat", "sample"] = "repeat",
        augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus)
        for member in _members(augmenter):
            if (budget := getattr(member, "budget", None)) is not None:
                where = "an augmenter of spacy.Corpus.v1: here the policy decides on copies"
                raise unused("budget", budget, "the augmenter", where)
        self.repeats = repeats
        self.join = check_join(join)
        self.mode = mode
        self.augmenter = augmenter
        self.seed = seed_of(seed)
        self._fitted: _CopyPlan | None = None
        self._calls = 0

    def examples(self, nlp: Language) -> Iterator[Example]:
        """The resampled examples, in a seeded order where spaCy does not shuffle."""
        max_epochs = nlp.config["training"].get("max_epochs", 0)
        if self.mode == "sample" and max_epochs != -1:
            raise ValueError(Errors.L102.format(found=max_epochs))
        if self._fitted is None:
            self._fitted = self._fit(nlp)
        rng = generator(self.seed, self._calls)
        self._calls += 1
        times = self._times(self._fitted.copies, array_generator(rng))
        repeated = self._repeated(nlp, self._fitted, times)
        if self._fitted.join > 1 or max_epochs == -1:
            repeated = self._shuffled(repeated, rng)  # else spaCy shuffles the corpus that it keeps
        yield from joined(repeated, self._fitted.join)

    def _fit(self, nlp: Language) -> "_CopyPlan":
        """The counting pass."""
        counts = self._count(nlp)
        fitted = self.repeats.fit(counts.total)
        copies = np.fromiter(
            (fitted(sentence) for sentence in counts), dtype="float64", count=len(counts)
        )
        if self.augmenter is not None and len(copies) and copies.max() <= 1:
            problem = f"{self.repeats} gives no sentence a second copy for the augmenter"
            raise ValueError(Errors.L120.format(who="longtail.ResampledCorpus.v1", problem=problem))
        policy, n_sentences = self.repeats, len(counts)
        logger.info("%s: %d sentences become %.0f", policy, n_sentences, copies.sum())
        return _CopyPlan(copies, join_size(self.join, counts), counts.sizes)

    def _times(self, copies: Floats1d, rng: np.random.Generator) -> Ints1d:
        """(n_sentences,) how often each sentence comes in this call."""
        if not len(copies):
            return np.zeros(0, dtype="int64")
        if self.mode == "sample":
            mass = np.cumsum(copies)
            points = rng.random(len(copies)) * mass[-1]
            return np.bincount(np.searchsorted(mass, points, side="right"), minlength=len(copies))
        return rounded(copies, rng)

    def _repeated(self, nlp: Language, fitted: "_CopyPlan", times: Ints1d) -> Iterator[Example]:
        counted = self._counted(nlp, fitted.sizes)
        for eg, n in zip(counted, map(int, times), strict=True):
            if n and self.augmenter is not None:
                yield eg
                for _ in range(n - 1):
                    yield from self.augmenter(nlp, eg)
            elif n:
                yield from repeat(eg, n)

    def _shuffled(self, examples: Iterable[Example], rng: random.Random) -> Iterator[Example]:
        """A bounded shuffle: each example leaves from a random place of a full buffer."""
        held: list[Example] = []
        for eg in examples:
            if len(held) < BUFFER:
                held.append(eg)
                continue
            i = int(rng.random() * BUFFER)
            held[i], eg = eg, held[i]
            yield eg
        rng.shuffle(held)
        yield from held


class _CopyPlan(NamedTuple):
    copies: Floats1d  # (n_sentences,), in corpus order
    join: int  # sentences per training document
    sizes: Sequence[int]  # (n_sentences,) tokens of each


def rounded(copies: Floats1d, rng: np.random.Generator) -> Ints1d:
    """Whole numbers whose expectations are `copies` and whose sum is theirs, to within one."""
    times = np.floor(copies)
    part = copies - times
    if part.any():
        order = rng.permutation(len(copies))  # else neighbours in the corpus would be rounded together
        steps = np.floor(np.cumsum(part[order]) + rng.random())
        times[order] += np.diff(steps, prepend=0.0)
    return times.astype("int64")


def _members(augmenter: object) -> Iterator[object]:
    """An augmenter and those that it chooses from."""
    yield augmenter
    for own in getattr(augmenter, "augmenters", ()):
        yield from _members(own)
