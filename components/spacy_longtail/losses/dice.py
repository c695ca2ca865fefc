"""Dice losses on tokens."""

import sys
import warnings
from dataclasses import dataclass
from typing import Literal

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..errors import Errors, Warnings
from ..numerics import BinaryRows, logsumexp, sigmoid
from ..settings import keep_finite, one_of
from .base import BinaryResult
from .gold import GOLD_HEADS, OfGold
from .token import Rows, one_gold

LEAST = 1e-30  # of 1 - p, whose negative power would be infinite at 0
LEAST_OF_GOLD = 1e-7  # the same where only log p is known, and 1 - p is no more exact than this


@dataclass(frozen=True)
class Dice(OfGold):
    """Dice loss: 1 - (2 X y + g) / (X^r + y + g) with X = (1 - p)^alpha p, summed over tags.

    alpha 0, smooth 1, power 2 is the form of Wang & Wang; alpha 1, power 1 the self-adjusting form of
    Li et al. Its gradient vanishes for tokens that are confidently wrong: begin with some `warmup` of
    the pipe. With terms "all", tokens with several acceptable tags are left out.

    alpha (float): Exponent of the self-adjustment, no unit, at least 0; 0 is none.
    smooth (float): Smoothing g, above 0.
    power (int): Exponent r of p in the divisor, 1 or 2.
    terms (str): "all" sums over all tags (softmax head), or takes the one of a yes or no (reading
        comprehension); "gold" takes the gold tag's term alone.
    level (str): "token", or "set" for one coefficient over all tokens of a batch (reading comprehension
        only).
    RETURNS (LossResult): Per counted token, no unit, and the exact gradient.
    SOURCE: Wang & Wang 2022, Appendix B; Li et al. 2020, arXiv:1911.02855 (docs/methods.md, "Dice").
    """

    alpha: float = 0.0
    smooth: float = 1.0
    power: int = 2
    terms: Literal["all", "gold"] = "all"
    level: Literal["token", "set"] = "token"

    def __post_init__(self) -> None:
        fix = "Use 0 for no self-adjustment."
        keep_finite(self, "alpha", "a finite number of at least 0", fix, 0.0)
        rule, least = "a finite number above 0", sys.float_info.min
        keep_finite(self, "smooth", rule, "1 is the published value.", least)
        one_of("power", self.power, (1, 2))
        one_of("terms", self.terms, ("all", "gold"))
        one_of("level", self.level, ("token", "set"))
        if self.level == "set" and self.terms == "gold":
            rule, fix = "'token' with terms = 'gold'", "A set has no gold tag: use terms = 'all'."
            raise ValueError(Errors.L001.format(name="level", rule=rule, value=self.level, fix=fix))
        if self.alpha > 0.05:
            message = Warnings.W005.format(alpha=self.alpha, best=1 / (1 + self.alpha))
            warnings.warn(message, stacklevel=2)

    @property
    def heads(self) -> tuple[str, ...]:
        if self.terms == "gold":
            return GOLD_HEADS
        return ("softmax", "binary") if self.level == "token" else ("binary",)

    def counted(self, gold: Floats2d) -> Floats1d | float:
        return one_gold(gold) if self.terms == "all" else 1.0

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        """The gold tag's term: its u vanishes with x, and is capped where the tag is all but certain."""
        xp = get_array_module(log_x)
        x, rest = xp.exp(log_x), -xp.expm1(log_x)
        f, slope = self._terms(x, rest, 1.0, LEAST_OF_GOLD)
        return f, -slope * x

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        if self.level == "set":
            reason, fix = "it is one number of a set", "Use level = 'token', or longtail_mrc_ner."
            raise ValueError(Errors.L002.format(who="A head of tags", loss=self, reason=reason, fix=fix))
        xp = get_array_module(logits)
        p = xp.exp(logits - logsumexp(logits))
        y = (gold > 0).astype(p.dtype)
        if self.terms == "gold":
            x, rest = (p * y).sum(axis=1), (p * (1 - y)).sum(axis=1)
            f, slope = self._terms(x, rest, 1.0)
            # u (p - q) without the cancellation in 1 - x
            d_rows = slope[:, None] * p * xp.where(y > 0, rest[:, None], -x[:, None])
            is_o = p[:, 0] * y[:, 0] > 0.5 * x
            return Rows(f, d_rows, is_o.astype(p.dtype))
        others = 1 - xp.eye(p.shape[1], dtype=p.dtype)
        rest = p @ others  # 1 - p without cancellation
        f, slope = self._terms(p, rest, y)
        # p (slope - sum p slope), each tag's own share of the sum taken off exactly
        d_rows = p * (slope * rest - (p * slope) @ others)
        return Rows(f.sum(axis=1), d_rows, y[:, 0])

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> BinaryRows:
        """The term of the answer yes, whose probability is s. logits, targets (Floats1d): (n,)."""
        s, rest = self._yes(logits)
        f, slope = self._terms(s, rest, targets)
        return BinaryRows(f, slope * s * rest)

    def of_set(self, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> BinaryResult:
        """One coefficient of all unmasked tokens; without any, the loss is 0.

        logits, targets, mask (Floats1d): (n,).
        """
        s, rest = self._yes(logits)
        x, d_x = self._adjusted(s, rest, LEAST)
        y, r = targets * mask, self.power
        top = 2 * (x * y).sum() + self.smooth
        bottom = (x**r * mask).sum() + y.sum() + self.smooth
        slope = -(2 * y * bottom - r * top * mask * x ** (r - 1)) / bottom**2
        return BinaryResult(float(1 - top / bottom), (slope * d_x * s * rest).astype(logits.dtype))

    @staticmethod
    def _yes(logits: Floats1d) -> tuple[Floats1d, Floats1d]:
        """s and 1 - s, without cancellation."""
        return sigmoid(logits), sigmoid(-logits)

    def _terms(
        self, p: Floats2d, rest: Floats2d, y: Floats2d | float, least: float = LEAST
    ) -> tuple[Floats2d, Floats2d]:
        """Each tag's term and its slope in p, from p, 1 - p (constant below `least`) and gold or not."""
        g, r = self.smooth, self.power
        x, d_x = self._adjusted(p, rest, least)
        top, bottom = 2 * x * y + g, x**r + y + g
        slope = -(2 * y * bottom - top * r * x ** (r - 1)) / bottom**2
        return 1 - top / bottom, slope * d_x

    def _adjusted(self, p: Floats2d, rest: Floats2d, least: float) -> tuple[Floats2d, Floats2d | float]:
        """X = (1 - p)^alpha p, and its slope in p."""
        if not self.alpha:
            return p, 1.0
        xp = get_array_module(p)
        inside, rest = rest > least, xp.maximum(rest, least)
        d_x = xp.where(inside, rest ** (self.alpha - 1) * (rest - self.alpha * p), rest**self.alpha)
        return rest**self.alpha * p, d_x
