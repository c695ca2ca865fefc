"""Losses of one yes or no per token, such as "does an entity begin here": one logit, its sigmoid s."""

from thinc.api import get_array_module
from thinc.types import Floats1d

from ..numerics import BinaryRows
from .base import BinaryResult
from .token import TagLoss


def masked_mean(rows: BinaryRows, mask: Floats1d) -> BinaryResult:
    """The mean over unmasked rows, and its gradient. mask (Floats1d): (n,), 0.0 or 1.0."""
    scale = mask / get_array_module(mask).maximum(mask.sum(), 1.0)
    return BinaryResult(float((rows.f * scale).sum()), rows.d_rows * scale)


def binary_loss(loss: TagLoss, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> BinaryResult:
    """A loss on one logit per token, with its exact gradient. O is the answer no.

    loss (TagLoss): A loss with "binary" in `heads`. At level "token" the result is a mean over unmasked
        tokens, at level "set" one number of all of them.
    logits, targets (Floats1d): (n,), unnormalised; 1.0 yes, 0.0 no.
    mask (Floats1d): (n,), 0.0 for what must not count, else 1.0.
    RETURNS (BinaryResult): In the loss's unit, and the gradient, 0 where masked.
    SOURCE: docs/methods.md, "Reading comprehension".
    """
    xp = get_array_module(logits)
    targets, mask = (xp.asarray(a, dtype=logits.dtype) for a in (targets, mask))
    if loss.level == "set":
        return loss.of_set(logits, targets, mask)
    return masked_mean(loss.binary_rows(logits, targets), mask)
