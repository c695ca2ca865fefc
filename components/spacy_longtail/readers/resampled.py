"""Resampling: repeat each sentence as often as a policy decides."""

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from random import Random

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import logger
from thinc.types import Floats1d

from ..corpus.counts import CorpusCounts
from ..errors import Errors
from ..settings import unused
from ..types import SentenceCounts
from .base import Reader
from .repeats import Repeats
from .sampled import SampledCorpus

BUFFER = 500  # examples held back to shuffle a stream


class ResampledCorpus(SampledCorpus):
    """Repeat each sentence of a corpus as often as a resampling policy decides.

    The corpus is read twice: once to count it and fit the policy, which takes some 20 bytes per
    sentence, and once to yield its sentences. The order is random with the seed where spaCy does
    not shuffle.

    A model that is trained on single sentences and used on documents loses several points of F1
    with spaCy's HashEmbedCNN (docs/resampling.md). `join` therefore makes documents that are about
    as long as those of the corpus.

    corpus (Callable): Reader to resample, a function of nlp to examples, such as spacy.Corpus.v1.
    repeats (Repeats): Resampling policy, such as longtail.sCR.v1. Fractions of a copy are rounded
        at random, so that the total is the expected one to within one sentence.
    join (Optional[int]): Number of resampled sentences per training document, in random order; null
        is the mean number of sentences per document of the corpus, at most 10. 1 yields single
        sentences.
    augmenter (Optional[Callable]): spaCy augmenter that rewrites all copies but the first; null
        leaves them identical.
    seed (int): Random seed. Each call of one reader uses other random numbers.
    RETURNS (Callable): The reader, a function of nlp to examples.
    SOURCE: Wang & Wang 2022 (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.readers.repeats import sC
        >>> from spacy_longtail.readers import ResampledCorpus
        >>> corpus = ResampledCorpus(lambda nlp: examples, sC(), join=1)
        >>> sorted(eg.reference[0].text for eg in corpus(nlp))
        ['Hurricane', 'Hurricane', 'Hurricane', 'It', 'It', 'Sandy', 'Sandy', 'Sandy', 'Sandy']
    """

    yields_copies = True

    def __init__(
        self,
        corpus: Reader,
        repeats: Repeats,
        join: int | None = None,
        augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, join, seed)
        for member in _members(augmenter):
            if (budget := getattr(member, "budget", None)) is not None:
                where = "an augmenter of spacy.Corpus.v1: here the policy decides on copies"
                raise unused("budget", budget, "the augmenter", where)
        self.repeats = repeats
        self.augmenter = augmenter

    def copies_of(self, total: CorpusCounts, sentences: list[SentenceCounts]) -> Floats1d:
        fitted = self.repeats.fit(total)
        copies = np.array([fitted(sentence) for sentence in sentences], dtype="float64")
        if self.augmenter is not None and len(copies) and copies.max() <= 1:
            problem = f"{self.repeats} gives no sentence a second copy for the augmenter"
            raise ValueError(Errors.L120.format(who=self.name, problem=problem))
        logger.info("%s: %d sentences become %.0f", self.repeats, len(copies), copies.sum())
        return copies

    def copied(self, nlp: Language, eg: Example, n: int) -> Iterable[Example]:
        """Yield the sentence, and copies that the augmenter has rewritten."""
        if self.augmenter is None:
            yield from repeat(eg, n)
            return
        yield eg
        for _ in range(n - 1):
            yield from self.augmenter(nlp, eg)

    def ordered(self, nlp: Language, examples: Iterator[Example], rng: Random) -> Iterator[Example]:
        """Yield the examples in a random order, by a shuffle with a bounded buffer."""
        is_streamed = nlp.config["training"].get("max_epochs", 0) == -1
        if self._plan is not None and self._plan.join == 1 and not is_streamed:
            yield from examples  # spaCy shuffles the corpus that it keeps
            return
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


def _members(augmenter: object) -> Iterator[object]:
    """Yield an augmenter and the augmenters that it chooses from."""
    yield augmenter
    for member in getattr(augmenter, "augmenters", ()):
        yield from _members(member)
