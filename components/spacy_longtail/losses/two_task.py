"""What the two-task losses share: per-head margins, and how a pair of heads adds up."""

from typing import NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d

from ..types import LossResult


class HeadResult(NamedTuple):
    loss: float
    d_logits: Floats1d  # (n_tokens,)


def binary_cross_entropy(logits: Floats1d, target: Floats1d, mask: Floats1d) -> HeadResult:
    """Mean over unmasked tokens. logits, target, mask (Floats1d): (n_tokens,)."""
    xp = get_array_module(logits)
    scale = mask / xp.maximum(mask.sum(), 1.0)
    log_p = -xp.logaddexp(0, xp.where(target > 0, -logits, logits))
    s = xp.exp(-xp.logaddexp(0, -logits))
    return HeadResult(float(-(log_p * scale).sum()), (s - target) * scale)


def pair(entity: HeadResult, begin: HeadResult, begin_weight: float, width: int) -> LossResult:
    """entity + begin_weight * begin, the gradient in the first two of `width` columns."""
    xp = get_array_module(entity.d_logits)
    d_scores = xp.zeros((len(entity.d_logits), width), dtype=entity.d_logits.dtype)
    d_scores[:, 0] = entity.d_logits
    d_scores[:, 1] = begin_weight * begin.d_logits
    return LossResult(entity.loss + begin_weight * begin.loss, d_scores)
