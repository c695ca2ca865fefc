"""Dice loss: the overlap of predicted and gold probability, tag by tag."""

from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..numerics import Rows, logsumexp, sigmoid
from ..settings import CHECKED
from .base import BinaryLoss, GoldLoss, GoldTerms, Loss, SoftmaxLoss

MIN_REST = 1e-30  # of 1 - p, whose negative power would be infinite at 0
MIN_REST_OF_GOLD = 1e-7  # the same where only log p is known, so that 1 - p is no more exact


@dataclass(frozen=True, config=CHECKED)
class Dice(SoftmaxLoss, BinaryLoss):
    """Dice loss: 1 - (2 X y + g) / (X^r + y + g) with X = (1 - p)^alpha p, summed over tags.

    The defaults are the form of Wang & Wang; alpha 1 with power 1 is the self-adjusting form of Li
    et al. Its gradient vanishes for tokens that are confidently wrong: start with some `warmup`.
    With alpha above 0, right answers are pushed back once p exceeds 1 / (1 + alpha).

    alpha (float): Exponent of the self-adjustment, no unit, at least 0. With 0 there is none.
    smooth (float): Smoothing g, no unit, above 0.
    power (int): Exponent r of X in the denominator, 1 or 2.
    terms (str): "all" sums over all tags. "gold" takes the term of the gold tag alone, which the
        head crf and the component longtail_ner need.
    RETURNS (Loss): The loss, no unit, summed over annotated tokens.
    SOURCE: Wang & Wang 2022, App. B; Li et al. 2020, arXiv:1911.02855 (docs/methods.md, "Dice").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.Dice.v1", "terms": "gold"}
        >>> config = {"head": "crf", "loss": loss, "warmup": 200}
        >>> ner = nlp.add_pipe("longtail_token_ner", config=config)
        >>> ner.loss
        Dice(alpha=0.0, smooth=1.0, power=2, terms='gold')
    """

    alpha: NonNegativeFloat = 0.0
    smooth: PositiveFloat = 1.0
    power: Literal[1, 2] = 2
    terms: Literal["all", "gold"] = "all"

    @property
    def formula(self) -> Loss:
        return GoldDice(self) if self.terms == "gold" else self

    def rows(self, logits: Floats2d, gold: Ints1d) -> Rows:
        xp = get_array_module(logits)
        p = xp.exp(logits - logsumexp(logits))
        y = (xp.arange(p.shape[1]) == gold[:, None]).astype(p.dtype)
        others = 1 - xp.eye(p.shape[1], dtype=p.dtype)
        rest = p @ others  # 1 - p without cancellation
        f, slope = self.term(p, rest, y)
        # p (slope - sum p slope), each tag's own share of the sum taken off exactly
        d_rows = p * (slope * rest - (p * slope) @ others)
        return Rows(f.sum(axis=1), d_rows)

    def binary_rows(self, logits: Floats2d, targets: Floats2d) -> Rows:
        """Return the term of the answer yes, whose probability is the sigmoid."""
        s, rest = sigmoid(logits), sigmoid(-logits)
        f, slope = self.term(s, rest, targets)
        return Rows(f, slope * s * rest)

    def term(
        self, p: Floats2d, rest: Floats2d, y: Floats2d | float, min_rest: float = MIN_REST
    ) -> tuple[Floats2d, Floats2d]:
        """Return the term of each tag, and its slope in p.

        p (Floats2d): Probability of each tag, of any shape.
        rest (Floats2d): 1 - p, in the same shape; taken as `min_rest` where it is below that.
        y (Floats2d | float): 1.0 for the gold tag, else 0.0.
        """
        g, r, x, d_x = self.smooth, self.power, p, 1.0
        if self.alpha:
            xp = get_array_module(p)
            is_exact, rest = rest > min_rest, xp.maximum(rest, min_rest)
            power = rest**self.alpha
            x = power * p
            d_x = xp.where(is_exact, rest ** (self.alpha - 1) * (rest - self.alpha * p), power)
        top, bottom = 2 * x * y + g, x**r + y + g
        slope = -(2 * y * bottom - top * r * x ** (r - 1)) / bottom**2
        return 1 - top / bottom, slope * d_x


class GoldDice(GoldLoss):
    """The term of the gold tag of a dice loss, a function of its probability."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        """Return f and u; u vanishes with x, and is capped where x is all but 1."""
        xp = get_array_module(log_x)
        x = xp.exp(log_x)
        f, slope = self.dice.term(x, -xp.expm1(log_x), 1.0, MIN_REST_OF_GOLD)
        return f, -slope * x
