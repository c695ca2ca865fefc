"""What the two-task losses are, and how a pair of heads adds up."""

from abc import abstractmethod
from typing import ClassVar

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..types import LossResult, TwoTaskState
from .base import BinaryResult, Loss


class TwoTaskLoss(Loss):
    """A loss on an entity logit and a begin logit per token.

    `scores` and `targets` are (n_tokens, 2), or (n_tokens, 2 + n_tags) for a loss with a tag head.

    SOURCE: docs/methods.md, "Two-task heads".
    """

    heads: ClassVar[tuple[str, ...]] = ("two_task",)
    tag_head: ClassVar[bool] = False

    @property
    @abstractmethod
    def activation(self) -> str:
        """How a logit becomes a score: "sigmoid" or "none"."""

    @abstractmethod
    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        """The loss with its gradient, and the next state. mask (Floats1d): (n_tokens,)."""


def pair(entity: BinaryResult, begin: BinaryResult, begin_weight: float, width: int) -> LossResult:
    """entity + begin_weight * begin, the gradient in the first two of `width` columns."""
    xp = get_array_module(entity.d_logits)
    d_scores = xp.zeros((len(entity.d_logits), width), dtype=entity.d_logits.dtype)
    d_scores[:, 0] = entity.d_logits
    d_scores[:, 1] = begin_weight * begin.d_logits
    return LossResult(entity.loss + begin_weight * begin.loss, d_scores)
