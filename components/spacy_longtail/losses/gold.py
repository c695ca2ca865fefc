"""What every loss of p(gold) shares: one formula serves softmax heads, CRF marginals and `ner`."""

from abc import abstractmethod

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import gold_rows
from ..types import ClassPreset, ClassWeights
from .binary import BinaryRows, sigmoids
from .token import Rows, TokenLoss

GOLD_HEADS = ("softmax", "crf", "transition")


class OfGold(TokenLoss):
    """A loss f(x) of x, the probability of the acceptable classes; its gradient is u (p - q).

    Subclasses are frozen dataclasses that define `of_gold`.
    """

    weights: ClassWeights | None = None

    @property
    def heads(self) -> tuple[str, ...]:  # type: ignore[override]
        """A yes or no has no class of its own, hence no class weight."""
        return GOLD_HEADS if self.weights is not None else (*GOLD_HEADS, "binary")

    @property
    def preset(self) -> ClassPreset | None:
        return self.weights

    @property
    def log_likelihood(self) -> bool:
        """Whether the loss is -log x: a CRF then trains on its exact likelihood."""
        return False

    @abstractmethod
    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        """f and u = -f'(x) x, row by row.

        log_x (Floats1d): (n,), log probability of the acceptable classes.
        is_o (Floats1d): (n,), 1.0 where the gold class is O.
        weight (Floats1d | float): (n,), the class weight of each row.
        """

    def weight(self, q: Floats2d) -> Floats1d | float:
        """The class weight of each row: that of the acceptable classes, weighted by q. (n,)"""
        if self.weights is None:
            return 1.0
        return q @ get_array_module(q).asarray(self.bound(), dtype=q.dtype)

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        log_x, d_rows, q = gold_rows(logits, gold)
        is_o = (q[:, 0] > 0.5).astype(logits.dtype)
        f, u = self.of_gold(log_x, is_o, self.weight(q))
        return Rows(f, d_rows * u[:, None], is_o)

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> BinaryRows:
        """Loss and gradient of one yes or no per token; x is the probability of the true answer.

        logits, targets (Floats1d): (n,), unnormalised; 1.0 yes, 0.0 no.
        """
        log_x, d_rows = sigmoids(logits, targets)
        f, u = self.of_gold(log_x, 1 - targets, 1.0)
        return BinaryRows(f, u * d_rows)
