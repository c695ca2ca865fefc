"""Base class of readers that repeat or sample sentences and join them to documents."""

from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, repeat, zip_longest
from random import Random
from typing import NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.types import Floats1d, Ints1d

from ..corpus.counts import CorpusCounts, count_doc
from ..corpus.cutting import SoftTags, read_soft, write_soft
from ..corpus.examples import warn_of_document_annotation
from ..errors import Errors
from ..output.console import progress
from ..settings import seed_of, whole
from ..types import ANNOTATED_TYPES, SentenceCounts
from .base import Reader, WrappingReader, sentences

JOIN_LIMIT = 10  # sentences; enough for a model to see boundaries between sentences


class SamplePlan(NamedTuple):
    copies: Floats1d  # (n_sentences,), in corpus order; fractions are drawn in each call
    join: int  # sentences per training document
    sizes: Sequence[int]  # (n_sentences,), number of tokens, including whitespace


class SampledCorpus(WrappingReader):
    """Reader that yields each sentence as often as `copies_of` decides, joined to documents.

    Models whose context window crosses sentence boundaries must see boundaries in training.
    """

    counts_corpus = True

    def __init__(self, corpus: Reader, join: int | None, seed: int) -> None:
        super().__init__(corpus)
        self.join = None if join is None else whole("join", join, "null takes the mean.", low=1)
        self.seed = seed_of(seed)
        self._plan: SamplePlan | None = None
        self._calls = 0

    @property
    def name(self) -> str:
        """Return the name under which the reader is registered."""
        return f"longtail.{type(self).__name__}.v1"

    @abstractmethod
    def copies_of(self, total: CorpusCounts, sentences: list[SentenceCounts]) -> Floats1d:
        """Return the copies of each sentence, shape (n_sentences,); fractions are rounded later."""

    def ordered(self, nlp: Language, examples: Iterator[Example], rng: Random) -> Iterator[Example]:
        yield from examples

    def copied(self, nlp: Language, eg: Example, n: int) -> Iterable[Example]:
        return repeat(eg, n)

    def examples(self, nlp: Language) -> Iterator[Example]:
        plan = self._plan = self._plan or self._planned(nlp)
        rng = generator(self.seed, self._calls)
        self._calls += 1
        times = rounded(plan.copies, np.random.default_rng(rng.getrandbits(64)))
        yield from joined(self.ordered(nlp, self._repeated(nlp, times, plan.sizes), rng), plan.join)

    def _planned(self, nlp: Language) -> SamplePlan:
        total, sizes, n_docs = CorpusCounts(), array("I"), 0
        units: list[SentenceCounts] = []  # equal ones are one object
        known: dict[object, SentenceCounts] = {}
        for eg in progress(self.corpus(nlp), "Counting"):
            n_docs += 1
            for part in sentences(nlp, [eg]):
                counts = count_doc(part.reference)
                total.add(counts)
                key = counts.length, *counts.tokens.items(), *counts.mentions.items()
                units.append(known.setdefault(key, counts._replace(singles={})))
                sizes.append(len(part.reference))
        mean = min(round(len(sizes) / max(n_docs, 1)), JOIN_LIMIT)
        return SamplePlan(self.copies_of(total, units), self.join or max(mean, 1), sizes)

    def _repeated(self, nlp: Language, times: Ints1d, sizes: Sequence[int]) -> Iterator[Example]:
        """Yield the copies of the sentences; raise L105 if they differ from the counted ones."""
        counted = zip(sizes, times.tolist(), strict=True)
        for eg, size_and_copies in zip_longest(sentences(nlp, self.corpus(nlp)), counted):
            if eg is None or size_and_copies is None:  # fewer or more sentences than before
                raise ValueError(Errors.L105.format(n=len(sizes)))
            size, n = size_and_copies
            if len(eg.reference) != size:
                raise ValueError(Errors.L105.format(n=len(sizes)))
            if n:
                yield from self.copied(nlp, eg, n)


def generator(*seed: int) -> Random:
    """Return a random generator for a combination of numbers."""
    return Random("/".join(map(str, seed)))


def rounded(copies: Floats1d, rng: np.random.Generator) -> Ints1d:
    """Return whole numbers with the expectations `copies` and, to within one, with their sum."""
    times = np.floor(copies)
    part = copies - times
    if part.any():
        order = rng.permutation(len(copies))  # else neighbours in the corpus would be rounded together
        steps = np.floor(np.cumsum(part[order]) + rng.random())
        times[order] += np.diff(steps, prepend=0.0)
    return times.astype("int64")


def joined(examples: Iterable[Example], size: int) -> Iterator[Example]:
    """Yield documents of `size` consecutive sentences; with size 1 the examples themselves.

    Sentences that were annotated with different types are not joined, nor are sentences whose soft
    targets have different tags.
    """
    if size == 1:
        yield from examples
        return

    def kind(eg: Example) -> tuple[list[str] | None, list[str] | None]:
        types, soft = eg.reference.user_data.get(ANNOTATED_TYPES), read_soft(eg.reference)
        return None if types is None else sorted(types), None if soft is None else soft.tags

    for (types, tags), alike in groupby(examples, key=kind):
        for group in minibatch(alike, size):
            for eg in group:
                warn_of_document_annotation(eg)
            predicted, reference = (
                Doc.from_docs(list(docs), exclude=["user_data"])  # type: ignore[call-arg]
                for docs in zip(*((eg.predicted, eg.reference) for eg in group), strict=True)
            )
            # joining marks where each part starts, which a predicted document must not know
            predicted.from_array(["SENT_START"], np.zeros((len(predicted), 1), dtype="uint64"))
            if types is not None:
                reference.user_data[ANNOTATED_TYPES] = types
            if tags is not None:
                soft = [cast(SoftTags, read_soft(eg.reference)).log_p for eg in group]
                write_soft(reference, tags, np.concatenate(soft))
            yield Example(predicted, reference)
