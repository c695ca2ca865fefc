"""The sentence resampling policies: corpus counts in, copies per sentence out. Pure functions.

A policy is fitted on the counts of the untouched corpus; the fitted policy maps the counts of one
sentence to its copies in total. SOURCE: Wang & Wang 2022, eq. 1-4.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from .counts import CorpusCounts
from .errors import Errors
from .types import SentenceCounts

Formula = Literal["paper", "code"]


def guarded_ceil(value: float) -> int:
    """The ceiling, where a value within 1e-9 (relative) of an integer is that integer."""
    nearest = round(value)
    if abs(value - nearest) <= 1e-9 * max(1.0, abs(value)):
        return nearest
    return math.ceil(value)


@dataclass(frozen=True)
class _Resampling(ABC):
    formula: Formula = "paper"
    cap: int | None = None

    def __post_init__(self) -> None:
        if self.cap is not None and (
            isinstance(self.cap, bool) or int(self.cap) != self.cap or self.cap < 1
        ):
            raise ValueError(
                Errors.L001.format(
                    name="cap",
                    rule="a whole number of at least 1, or null",
                    value=self.cap,
                    fix="1 keeps every sentence once.",
                )
            )
        if self.formula not in ("paper", "code"):
            raise ValueError(
                Errors.L001.format(
                    name="formula",
                    rule='"paper" or "code"',
                    value=self.formula,
                    fix='"paper" follows equations 1-4.',
                )
            )

    def fit(self, corpus: CorpusCounts) -> Callable[[SentenceCounts], int]:
        """corpus (CorpusCounts): Counts of the untouched corpus.
        RETURNS (Callable): Counts of one sentence to its copies in total, at least 1.
        RAISES (ValueError): L101 if the corpus has no entity."""
        if corpus.n_units and not corpus.n_entity_tokens:
            name = f"longtail.{self.__class__.__name__}.v1"
            raise ValueError(Errors.L101.format(policy=name, n_units=corpus.n_units))
        rareness = corpus.rareness()

        def copies(sentence: SentenceCounts) -> int:
            if not sentence.tokens:
                return 1
            n = max(self.copies(sentence.tokens, sentence.length, rareness), 1)
            return n if self.cap is None else min(n, self.cap)

        return copies

    def _rounded(self, value: float, divisor: float) -> int:
        if self.formula == "paper":
            return 1 + guarded_ceil(value / divisor)
        return guarded_ceil((1 + value) / divisor)

    @abstractmethod
    def copies(self, tokens: Mapping[str, int], length: int, rareness: Mapping[str, float]) -> int:
        """Copies of a sentence with entities, before the cap."""


@dataclass(frozen=True)
class sC(_Resampling):
    """Smoothed count: 1 + the sentence's entity tokens.

    formula (str): "paper" or "code"; both agree for sC.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 1.
    """

    def copies(self, tokens: Mapping[str, int], length: int, rareness: Mapping[str, float]) -> int:
        return 1 + sum(tokens.values())


@dataclass(frozen=True)
class sCR(_Resampling):
    """Smoothed count and rareness: 1 + ceil(sqrt(sum r c)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 2.
    """

    def copies(self, tokens: Mapping[str, int], length: int, rareness: Mapping[str, float]) -> int:
        total = sum(rareness.get(t, 0.0) * c for t, c in tokens.items())
        if self.formula == "paper":
            return 1 + guarded_ceil(math.sqrt(total))
        return guarded_ceil(math.sqrt(1 + total))


@dataclass(frozen=True)
class sCRD(_Resampling):
    """Smoothed count, rareness and density: 1 + ceil(sum r c / sqrt(length)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 3.
    """

    def copies(self, tokens: Mapping[str, int], length: int, rareness: Mapping[str, float]) -> int:
        total = sum(rareness.get(t, 0.0) * c for t, c in tokens.items())
        return self._rounded(total, math.sqrt(length))


@dataclass(frozen=True)
class nsCRD(_Resampling):
    """Normalised and smoothed count, rareness and density: 1 + ceil(sum r sqrt(c) / sqrt(length)).

    formula (str): "paper" as printed; "code" as the authors' script, with the 1 inside the ceiling.
    cap (Optional[int]): Most copies of a sentence; null for no limit.
    SOURCE: Wang & Wang 2022, eq. 4.
    """

    def copies(self, tokens: Mapping[str, int], length: int, rareness: Mapping[str, float]) -> int:
        total = sum(rareness.get(t, 0.0) * math.sqrt(c) for t, c in tokens.items())
        return self._rounded(total, math.sqrt(length))
