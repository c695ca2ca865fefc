"""Majority or minority (MoM): a base loss plus the same loss on O tokens."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows
from .base import CHECKED
from .token import AroundLoss, CrossEntropy, GoldTerms, TagLoss


@dataclass(frozen=True, config=CHECKED)
class MoM(AroundLoss):
    """lam base(all tokens) + (1 - lam) base(gold-O tokens), both over the number of all tokens.

    This is the base loss weighted 1 on O and lam on entities: O counts 1 / lam times an entity, the
    reverse of inverse frequency.

    base (Optional[TagLoss]): The loss on tokens to wrap; null is cross-entropy.
    lam (float): Share of the base term, no unit, above 0 and at most 1. 1 is the base alone.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 1-2, with the sign fixed (docs/methods.md, "Majority or minority").
    """

    base: TagLoss | None = None
    lam: Annotated[float, Field(gt=0, le=1)] = 0.2

    def __post_init__(self) -> None:
        if self.base is None:
            object.__setattr__(self, "base", CrossEntropy())

    @property
    def log_likelihood(self) -> bool:
        return self.lam == 1 and super().log_likelihood

    def _factor(self, is_o: Floats1d) -> Floats1d:
        return is_o + self.lam * (1 - is_o)

    def of_gold(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> GoldTerms:
        f, u = super().of_gold(log_x, is_o, weight)
        return f * self._factor(is_o), u * self._factor(is_o)

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        f, d_rows = super().rows(logits, gold)
        factor = self._factor((gold[:, 0] > 0).astype(logits.dtype))
        return Rows(f * factor, d_rows * factor[:, None])

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> Rows:
        f, d_rows = self.base.binary_rows(logits, targets)  # type: ignore[union-attr]
        return Rows(f * self._factor(1 - targets), d_rows * self._factor(1 - targets))
