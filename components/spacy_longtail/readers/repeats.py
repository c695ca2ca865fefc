"""Resampling policies: compute how often each sentence is repeated.

A policy is fitted on the counts of the untouched corpus. The fitted policy maps the counts of one
sentence to its number of copies, the sentence itself included.

SOURCE: Wang & Wang 2022, eq. 1-4.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Protocol, runtime_checkable

from pydantic import Field
from pydantic.dataclasses import dataclass

from ..corpus.counts import CorpusCounts
from ..errors import Errors
from ..settings import CHECKED
from ..types import SentenceCounts

Formula = Literal["paper", "code"]
Ratio = Annotated[float, Field(ge=1e-3, le=1e3)]


@runtime_checkable
class Repeats(Protocol):
    """Resampling policy: fitted on corpus counts, it maps a sentence's counts to its copies."""

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], float]: ...


def guarded_ceil(value: float) -> int:
    """Return the ceiling; a value within 1e-9 (relative) of an integer is rounded to it."""
    nearest = round(value)
    if abs(value - nearest) <= 1e-9 * max(1.0, abs(value)):
        return nearest
    return math.ceil(value)


def check_entities(policy: object, corpus: CorpusCounts) -> None:
    """Raise L101 if a corpus has no entity, so that there is nothing to resample."""
    if corpus.n_units and not corpus.n_entity_tokens:
        name = f"longtail.{type(policy).__name__}.v1"
        raise ValueError(Errors.L101.format(policy=name, n_units=corpus.n_units))


@dataclass(frozen=True, config=CHECKED)
class _Resampling(ABC):
    formula: Formula = "paper"
    cap: Annotated[int, Field(ge=1)] | None = None

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], int]:
        """Return the fitted policy.

        corpus (CorpusCounts): Counts of the untouched corpus.
        RETURNS (Callable): Function from the counts of a sentence to its copies, at least 1.
        RAISES (ValueError): If the corpus has no entity (L101).
        """
        check_entities(self, corpus)
        rareness = corpus.rareness()

        def copies(sentence: SentenceCounts) -> int:
            if not sentence.tokens:
                return 1
            total, length = self.total(sentence.tokens, rareness), max(sentence.length, 1)
            if self.formula == "paper":
                n = 1 + guarded_ceil(self.scaled(total, length))
            else:
                n = max(guarded_ceil(self.scaled(1 + total, length)), 1)
            return n if self.cap is None else min(n, self.cap)

        return copies

    def total(self, tokens: Mapping[str, int], rareness: Mapping[str, float]) -> float:
        """Return the sum over the types of a sentence."""
        return sum(rareness.get(t, 0.0) * c for t, c in tokens.items())

    @abstractmethod
    def scaled(self, total: float, length: int) -> float:
        """Return the sum, smoothed or divided by the length of the sentence, before rounding."""


@dataclass(frozen=True, config=CHECKED)
class sC(_Resampling):
    """Smoothed count: repeat a sentence 1 + c times, with c its number of entity tokens.

    formula (str): "paper" or "code"; both are the same for sC.
    cap (Optional[int]): Maximum number of copies of a sentence; null for no limit.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: Wang & Wang 2022, eq. 1 (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import sC
        >>> docs = [eg.reference for eg in examples]
        >>> copies = sC().fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [3, 4, 1, 1]
    """

    def total(self, tokens: Mapping[str, int], rareness: Mapping[str, float]) -> float:
        return sum(tokens.values())

    def scaled(self, total: float, length: int) -> float:
        return total


@dataclass(frozen=True, config=CHECKED)
class sCR(_Resampling):
    """Smoothed count and rareness: repeat a sentence 1 + ceil(sqrt(sum r c)) times.

    c is the number of tokens of a type in the sentence, r the rareness of the type in bits.

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Maximum number of copies of a sentence; null for no limit.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: Wang & Wang 2022, eq. 2 (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import sCR
        >>> docs = [eg.reference for eg in examples]
        >>> copies = sCR().fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [4, 4, 1, 1]
    """

    def scaled(self, total: float, length: int) -> float:
        return math.sqrt(total)


@dataclass(frozen=True, config=CHECKED)
class sCRD(_Resampling):
    """Smoothed count, rareness and density: repeat 1 + ceil(sum r c / sqrt(length)) times.

    As longtail.sCR.v1, but sentences that are short for their entities are repeated more often.

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Maximum number of copies of a sentence; null for no limit.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: Wang & Wang 2022, eq. 3 (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import sCRD
        >>> docs = [eg.reference for eg in examples]
        >>> copies = sCRD().fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [4, 5, 1, 1]
    """

    def scaled(self, total: float, length: int) -> float:
        return total / math.sqrt(length)


@dataclass(frozen=True, config=CHECKED)
class nsCRD(sCRD):
    """Normalised sCRD: repeat a sentence 1 + ceil(sum r sqrt(c) / sqrt(length)) times.

    As longtail.sCRD.v1, but long mentions count less.

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Maximum number of copies of a sentence; null for no limit.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: Wang & Wang 2022, eq. 4 (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import nsCRD
        >>> docs = [eg.reference for eg in examples]
        >>> copies = nsCRD().fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [3, 5, 1, 1]
    """

    def total(self, tokens: Mapping[str, int], rareness: Mapping[str, float]) -> float:
        return sum(rareness.get(t, 0.0) * math.sqrt(c) for t, c in tokens.items())


@dataclass(frozen=True, config=CHECKED)
class _RandomSampling(ABC):
    ratio: Ratio = 1.0

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], float]:
        """Return the fitted policy.

        corpus (CorpusCounts): Counts of the untouched corpus.
        RETURNS (Callable): Function from the counts of a sentence to its expected copies.
        RAISES (ValueError): If the corpus has no entity (L101).
        """
        check_entities(self, corpus)
        n_entity = corpus.n_entity_units
        with_entity, bare = self.copies(n_entity, corpus.n_units - n_entity)
        return lambda sentence: with_entity if sentence.tokens else bare

    @abstractmethod
    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        """Return the expected copies of a sentence with entities, and of one without."""


@dataclass(frozen=True, config=CHECKED)
class RandomOversampling(_RandomSampling):
    """Random oversampling: repeat sentences with entities until they are `ratio` times the others.

    ratio (float): Sentences with entities per sentence without, 0.001 to 1000. A corpus that
        exceeds it is not changed.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: The usual random oversampling, on sentences (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import RandomOversampling
        >>> docs = [eg.reference for eg in examples]
        >>> copies = RandomOversampling(ratio=2.0).fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [2.0, 2.0, 1.0, 1.0]
    """

    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        return max(1.0, self.ratio * n_bare / max(n_entity, 1)), 1.0


@dataclass(frozen=True, config=CHECKED)
class RandomUndersampling(_RandomSampling):
    """Random undersampling: drop sentences without entities until there are 1 / `ratio` per other.

    ratio (float): Sentences with entities per sentence without, 0.001 to 1000. A corpus that
        exceeds it is not changed.
    RETURNS (Repeats): The policy, for longtail.ResampledCorpus.v1.
    SOURCE: The usual random undersampling, on sentences (docs/methods.md, "Resampling").
    EXAMPLE:
        >>> from spacy_longtail.corpus.counts import count_doc, count_docs
        >>> from spacy_longtail.readers.repeats import RandomUndersampling
        >>> docs = [eg.reference for eg in examples]
        >>> copies = RandomUndersampling(ratio=2.0).fit(count_docs(docs))
        >>> [copies(count_doc(doc)) for doc in docs]
        [1.0, 1.0, 0.5, 0.5]
    """

    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        return 1.0, min(1.0, n_entity / (self.ratio * max(n_bare, 1)))
