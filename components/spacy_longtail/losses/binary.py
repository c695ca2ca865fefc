"""Losses of one yes or no per token, such as "does an entity begin here": one logit, its sigmoid s."""

from typing import Any, NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d


class BinaryResult(NamedTuple):
    loss: float
    d_logits: Floats1d  # (n,)


class BinaryRows(NamedTuple):
    f: Floats1d  # (n,), the loss of each answer
    d_rows: Floats1d  # (n,), d f / d logit


class Sigmoids(NamedTuple):
    log_x: Floats1d  # (n,), log probability of the true answer
    d_rows: Floats1d  # (n,), s - y: the gradient of cross-entropy


def sigmoids(logits: Floats1d, targets: Floats1d) -> Sigmoids:
    """What every loss of the true answer's probability needs, exact at both ends of the sigmoid.

    logits (Floats1d): (n,). targets (Floats1d): (n,), 1.0 yes, 0.0 no.
    """
    xp = get_array_module(logits)
    towards = xp.where(targets > 0, logits, -logits)
    wrong = xp.exp(-xp.logaddexp(0, towards))  # 1 - x, without cancellation
    return Sigmoids(-xp.logaddexp(0, -towards), xp.where(targets > 0, -wrong, wrong))


def binary_loss(loss: Any, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> BinaryResult:
    """A loss on one logit per token, with its exact gradient. O is the answer no.

    loss: A loss with "binary" in `heads`. At level "token" the result is a mean over unmasked tokens, at
        level "set" one number of all of them.
    logits, targets (Floats1d): (n,), unnormalised; 1.0 yes, 0.0 no.
    mask (Floats1d): (n,), 0.0 for what must not count, else 1.0.
    RETURNS (BinaryResult): In the loss's unit, and the gradient, 0 where masked.
    SOURCE: docs/methods.md, "Reading comprehension".
    """
    xp = get_array_module(logits)
    targets, mask = (xp.asarray(a, dtype=logits.dtype) for a in (targets, mask))
    if loss.level == "set":
        return loss.of_set(logits, targets, mask)
    f, d_rows = loss.binary_rows(logits, targets)
    scale = mask / xp.maximum(mask.sum(), 1.0)
    return BinaryResult(float((f * scale).sum()), d_rows * scale)
