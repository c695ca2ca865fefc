"""What the two-task losses share: how a pair of heads adds up."""

from thinc.api import get_array_module

from ..types import LossResult
from .binary import BinaryResult


def pair(entity: BinaryResult, begin: BinaryResult, begin_weight: float, width: int) -> LossResult:
    """entity + begin_weight * begin, the gradient in the first two of `width` columns."""
    xp = get_array_module(entity.d_logits)
    d_scores = xp.zeros((len(entity.d_logits), width), dtype=entity.d_logits.dtype)
    d_scores[:, 0] = entity.d_logits
    d_scores[:, 1] = begin_weight * begin.d_logits
    return LossResult(entity.loss + begin_weight * begin.loss, d_scores)
