"""The sentence resampling policies: corpus counts in, copies per sentence out. Pure functions.

A policy is fitted on the counts of the untouched corpus; the fitted policy maps the counts of one
sentence to its copies in total. SOURCE: Wang & Wang 2022, eq. 1-4.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass
from thinc.types import Ints1d

from ..errors import Errors
from ..settings import CHECKED
from ..types import SentenceCounts
from .counts import CorpusCounts

Formula = Literal["paper", "code"]
Ratio = Annotated[float, Field(ge=1e-3, le=1e3)]
TOKEN_RATIO = 3.0  # kept tokens for each entity token, of balanced undersampling


@runtime_checkable
class Repeats(Protocol):
    """A resampling policy: fitted on corpus counts, it maps a unit's counts to copies."""

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], float]: ...


def guarded_ceil(value: float) -> int:
    """The ceiling, where a value within 1e-9 (relative) of an integer is that integer."""
    nearest = round(value)
    if abs(value - nearest) <= 1e-9 * max(1.0, abs(value)):
        return nearest
    return math.ceil(value)


def check_entities(policy: object, corpus: CorpusCounts) -> None:
    """Refuse to resample what has no entity."""
    if corpus.n_units and not corpus.n_entity_tokens:
        name = f"longtail.{type(policy).__name__}.v1"
        raise ValueError(Errors.L101.format(policy=name, n_units=corpus.n_units))


@dataclass(frozen=True, config=CHECKED)
class _Resampling(ABC):
    formula: Formula = "paper"
    cap: Annotated[int, Field(ge=1)] | None = None

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], int]:
        """corpus (CorpusCounts): Counts of the untouched corpus.
        RETURNS (Callable): Counts of one sentence to its copies in total, at least 1.
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
        """What is summed over the types of a sentence."""
        return sum(rareness.get(t, 0.0) * c for t, c in tokens.items())

    @abstractmethod
    def scaled(self, total: float, length: int) -> float:
        """The sum, smoothed or by the length of the sentence, before the ceiling."""


@dataclass(frozen=True, config=CHECKED)
class sC(_Resampling):
    """Smoothed count: 1 + the sentence's entity tokens.

    formula (str): "paper" or "code"; both agree for sC.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 1.
    """

    def total(self, tokens: Mapping[str, int], rareness: Mapping[str, float]) -> float:
        return sum(tokens.values())

    def scaled(self, total: float, length: int) -> float:
        return total


@dataclass(frozen=True, config=CHECKED)
class sCR(_Resampling):
    """Smoothed count and rareness: 1 + ceil(sqrt(sum r c)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 2.
    """

    def scaled(self, total: float, length: int) -> float:
        return math.sqrt(total)


@dataclass(frozen=True, config=CHECKED)
class sCRD(_Resampling):
    """Smoothed count, rareness and density: 1 + ceil(sum r c / sqrt(length)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 3.
    """

    def scaled(self, total: float, length: int) -> float:
        return total / math.sqrt(length)


@dataclass(frozen=True, config=CHECKED)
class nsCRD(sCRD):
    """Normalised and smoothed count, rareness and density: 1 + ceil(sum r sqrt(c) / sqrt(length)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 4.
    """

    def total(self, tokens: Mapping[str, int], rareness: Mapping[str, float]) -> float:
        return sum(rareness.get(t, 0.0) * math.sqrt(c) for t, c in tokens.items())


@dataclass(frozen=True, config=CHECKED)
class _RandomSampling(ABC):
    ratio: Ratio = 1.0

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], float]:
        """corpus (CorpusCounts): Of the untouched corpus. RETURNS (Callable): Expected copies."""
        check_entities(self, corpus)
        n_entity = corpus.n_entity_units
        with_entity, bare = self.copies(n_entity, corpus.n_units - n_entity)
        return lambda sentence: with_entity if sentence.tokens else bare

    @abstractmethod
    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        """Expected copies of a sentence with entities, and of one without."""


@dataclass(frozen=True, config=CHECKED)
class RandomOversampling(_RandomSampling):
    """Repeat sentences with entities at random until they are `ratio` times those without.

    ratio (float): Sentences with entities for each one without. A corpus beyond it stays as it is.
    SOURCE: The usual random oversampling, on sentences (docs/methods.md, "Resampling").
    """

    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        return max(1.0, self.ratio * n_bare / max(n_entity, 1)), 1.0


@dataclass(frozen=True, config=CHECKED)
class RandomUndersampling(_RandomSampling):
    """Drop sentences without entities at random until those with some are `ratio` times as many.

    ratio (float): Sentences with entities for each one without. A corpus beyond it stays as it is.
    SOURCE: The usual random undersampling, on sentences (docs/methods.md, "Resampling").
    """

    def copies(self, n_entity: int, n_bare: int) -> tuple[float, float]:
        return 1.0, min(1.0, n_entity / (self.ratio * max(n_bare, 1)))


def kept_tokens(entity: np.ndarray, ratio: float = TOKEN_RATIO) -> Ints1d:
    """The tokens that balanced undersampling keeps of one sentence.

    entity (Array[bool]): (n_tokens,) whether each token belongs to an entity.
    ratio (float): Tokens to keep for each entity token.
    RETURNS (Ints1d): (n_kept,) ascending; none without an entity.
    """
    wanted = min(ratio * int(entity.sum()), len(entity))
    kept = entity.copy()
    while int(kept.sum()) < wanted:
        grown = kept.copy()
        grown[1:] |= kept[:-1]
        grown[:-1] |= kept[1:]
        kept = grown
    return np.flatnonzero(kept)
