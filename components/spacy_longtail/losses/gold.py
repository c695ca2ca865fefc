"""What every loss of p(gold) shares: one formula serves softmax heads, CRF marginals and `ner`."""

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors
from ..numerics import gold_rows
from ..types import ClassWeights, LossResult


class OfGold(ABC):
    """A loss f(x) of x, the probability of the acceptable classes; its gradient is u (p - q).

    Subclasses are frozen dataclasses that define `of_gold`.
    """

    weights: ClassWeights | None
    normalizers: ClassVar[tuple[str, ...]] = ("tokens", "tokens")
    class_weights: Floats1d | None = None  # (n_tags,), set by `bind`, never a setting

    @abstractmethod
    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        """f and u = -f'(x) x, row by row.

        log_x (Floats1d): (n,), log probability of the acceptable classes.
        is_o (Floats1d): (n,), 1.0 where the gold class is O.
        weight (Floats1d | float): (n,), the class weight of each row.
        """

    def bind(self, class_weights: Floats1d) -> Any:
        """The same loss with its class weights resolved.

        class_weights (Floats1d): (n_tags,), one weight a column of the logits.
        RETURNS: A new loss.
        """
        bound = copy.copy(self)
        object.__setattr__(bound, "class_weights", class_weights)
        return bound

    def coefficients(self, is_o: Floats1d, mask: Floats1d, lengths: Ints1d | None) -> Floats1d:
        """How much each token counts in the result; sums to 1 for a plain mean. (n_tokens,)"""
        xp = get_array_module(mask)
        return mask / xp.maximum(mask.sum(), 1.0)

    def rows(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> Any:
        """f and u without the coefficients; MoM overrides it."""
        return self.of_gold(log_x, is_o, weight)

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, lengths: Ints1d | None = None
    ) -> LossResult:
        """Loss and exact gradient on token logits.

        logits (Floats2d): (n_tokens, n_tags), unnormalised, column 0 is O.
        gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag, at least one a row.
        mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation, else 1.0.
        lengths (Ints1d): (n_sentences,), tokens a sentence; None is one sentence.
        RETURNS (LossResult): Nats per unmasked token, and the gradient (n_tokens, n_tags).
        RAISES (ValueError): L008, L009.
        """
        xp = get_array_module(logits)
        log_x, d_rows, q = gold_rows(logits, gold)
        weight: Any = 1.0
        if self.weights is not None:
            if self.class_weights is None:
                raise ValueError(Errors.L008.format(loss=self))
            weight = q @ xp.asarray(self.class_weights, dtype=logits.dtype)
        is_o = (q[:, 0] > 0.5).astype(logits.dtype)
        f, u = self.rows(log_x, is_o, weight)
        scale = self.coefficients(is_o, xp.asarray(mask, dtype=logits.dtype), lengths)
        scale = scale.astype(logits.dtype)
        return LossResult(float((f * scale).sum()), d_rows * (u * scale)[:, None])
