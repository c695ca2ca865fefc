"""What every loss on token logits shares: rows, a normaliser, class presets."""

import copy
from abc import abstractmethod
from typing import NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors
from ..numerics import BinaryRows
from ..types import LossResult
from .base import BinaryResult, Loss


class Rows(NamedTuple):
    f: Floats1d  # (n_tokens,), the loss of each token
    d_rows: Floats2d  # (n_tokens, n_tags), d f / d logits
    is_o: Floats1d  # (n_tokens,), 1.0 where the gold tag is O


class TagLoss(Loss):
    """A loss on token logits: a sum over tokens, each with a coefficient.

    Subclasses are frozen dataclasses with `rows`, and with what else their `heads` promise.
    """

    class_values: Floats1d | None = None  # (n_tags,), set by `bind`, never a setting

    @property
    def level(self) -> str:
        """What the loss is taken of: "token", or "set", one number of all tokens together."""
        return "token"

    @abstractmethod
    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        """Loss and gradient of each token on its own."""

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        """f and u = -f'(x) x, row by row; x is the probability of the acceptable classes.

        log_x (Floats1d): (n,), log probability of the acceptable classes.
        is_o (Floats1d): (n,), 1.0 where the gold class is O.
        weight (Floats1d | float): (n,), the class weight of each row.
        """
        raise NotImplementedError

    def weight(self, q: Floats2d) -> Floats1d | float:
        """The class weight of each row: that of the acceptable classes, weighted by q. (n,)"""
        raise NotImplementedError

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> BinaryRows:
        """Loss and gradient of each yes or no. logits, targets (Floats1d): (n,), 1.0 yes, 0.0 no."""
        raise NotImplementedError

    def of_set(self, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> BinaryResult:
        """One number of all unmasked answers. logits, targets, mask (Floats1d): (n,)."""
        raise NotImplementedError

    def bind(self, class_values: Floats1d) -> "TagLoss":
        """The same loss with its preset resolved.

        class_values (Floats1d): (n_tags,), one number per column of the logits.
        RETURNS: A new loss.
        """
        bound = copy.copy(self)
        object.__setattr__(bound, "class_values", class_values)
        return bound

    def bound(self) -> Floats1d:
        """The resolved numbers, (n_tags,)."""
        if self.class_values is None:
            raise ValueError(Errors.L008.format(loss=self))
        return self.class_values

    def counted(self, gold: Floats2d) -> Floats1d | float:
        """Which tokens the loss can be taken of, (n_tokens,); 1.0 is all."""
        return 1.0

    def coefficients(self, is_o: Floats1d, mask: Floats1d, lengths: Ints1d | None) -> Floats1d:
        """How much each token counts in the result; sums to 1 for a plain mean. (n_tokens,)"""
        return mask / get_array_module(mask).maximum(mask.sum(), 1.0)

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, lengths: Ints1d | None = None
    ) -> LossResult:
        """Loss and exact gradient on token logits.

        logits (Floats2d): (n_tokens, n_tags), unnormalised, column 0 is O.
        gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag, at least one per row.
        mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation, else 1.0.
        lengths (Ints1d): (n_sentences,), tokens per sentence; None is one sentence.
        RETURNS (LossResult): Nats per unmasked token, and the gradient (n_tokens, n_tags).
        """
        f, d_rows, is_o = self.rows(logits, gold)
        mask = get_array_module(logits).asarray(mask, dtype=logits.dtype) * self.counted(gold)
        scale = self.coefficients(is_o, mask, lengths).astype(logits.dtype)
        return LossResult(float((f * scale).sum()), d_rows * scale[:, None])


def one_gold(gold: Floats2d) -> Floats1d:
    """1.0 for rows with a single acceptable tag. (n_tokens,)"""
    return ((gold > 0).sum(axis=1) == 1).astype(gold.dtype)
