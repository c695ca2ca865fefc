"""The dice loss on tokens."""

from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows, logsumexp, sigmoid
from .base import CHECKED
from .token import GOLD_HEADS, GoldTerms, TagLoss

LEAST = 1e-30  # of 1 - p, whose negative power would be infinite at 0
LEAST_OF_GOLD = 1e-7  # the same where only log p is known, and 1 - p is no more exact than this


@dataclass(frozen=True, config=CHECKED)
class Dice(TagLoss):
    """Dice loss: 1 - (2 X y + g) / (X^r + y + g) with X = (1 - p)^alpha p, summed over tags.

    alpha 0, smooth 1, power 2 is the form of Wang & Wang, alpha 1, power 1 the self-adjusting one
    of Li et al. Its gradient vanishes for tokens that are confidently wrong: start with some
    `warmup`. With alpha above 0 a right answer is pushed back once p is above 1 / (1 + alpha).

    alpha (float): Exponent of the self-adjustment, no unit, at least 0; 0 is none.
    smooth (float): Smoothing g, above 0.
    power (int): Exponent r of p in the divisor, 1 or 2.
    terms (str): "all" sums over all tags; "gold" takes the gold tag's term alone, which the head
        crf and the component longtail_ner need.
    RETURNS (LossResult): Per unmasked token, no unit, and the exact gradient.
    SOURCE: Wang & Wang 2022, App. B; Li et al. 2020, arXiv:1911.02855 (docs/methods.md, "Dice").
    """

    alpha: NonNegativeFloat = 0.0
    smooth: PositiveFloat = 1.0
    power: Literal[1, 2] = 2
    terms: Literal["all", "gold"] = "all"

    @property
    def heads(self) -> tuple[str, ...]:
        return GOLD_HEADS if self.terms == "gold" else ("softmax", "binary")

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        """The gold tag's term: its u vanishes with x, and is capped where x is all but 1."""
        xp = get_array_module(log_x)
        x = xp.exp(log_x)
        f, slope = self._terms(x, -xp.expm1(log_x), 1.0, LEAST_OF_GOLD)
        return f, -slope * x

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        if self.terms == "gold":
            return super().rows(logits, gold)
        xp = get_array_module(logits)
        p = xp.exp(logits - logsumexp(logits))
        y = (gold > 0).astype(p.dtype)
        others = 1 - xp.eye(p.shape[1], dtype=p.dtype)
        rest = p @ others  # 1 - p without cancellation
        f, slope = self._terms(p, rest, y)
        # p (slope - sum p slope), each tag's own share of the sum taken off exactly
        d_rows = p * (slope * rest - (p * slope) @ others)
        return Rows(f.sum(axis=1), d_rows)

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> Rows:
        """The term of the answer yes, whose probability is s."""
        s, rest = sigmoid(logits), sigmoid(-logits)
        f, slope = self._terms(s, rest, targets)
        return Rows(f, slope * s * rest)

    def _terms(
        self, p: Floats2d, rest: Floats2d, y: Floats2d | float, least: float = LEAST
    ) -> tuple[Floats2d, Floats2d]:
        """Each tag's term and slope in p, from p, 1 - p (constant below `least`) and gold."""
        g, r, x, d_x = self.smooth, self.power, p, 1.0
        if self.alpha:
            xp = get_array_module(p)
            inside, rest = rest > least, xp.maximum(rest, least)
            power = rest**self.alpha
            x = power * p
            d_x = xp.where(inside, rest ** (self.alpha - 1) * (rest - self.alpha * p), power)
        top, bottom = 2 * x * y + g, x**r + y + g
        slope = -(2 * y * bottom - top * r * x ** (r - 1)) / bottom**2
        return 1 - top / bottom, slope * d_x
