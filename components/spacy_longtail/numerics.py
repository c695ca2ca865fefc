"""Array functions that losses, heads and pipes share, through `xp`: NumPy or CuPy."""

from typing import Any, NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, FloatsXd


class GoldRows(NamedTuple):
    log_x: Floats1d  # (n,), log probability of the acceptable classes together
    d_rows: Floats2d  # (n, K), p - q: the gradient of cross-entropy, row by row
    q: Floats2d  # (n, K), the softmax within the acceptable classes


class Rows(NamedTuple):
    f: Floats1d  # (n,), the loss of each row
    d_rows: Any  # (n, K), or (n,) of one logit a row: d f / d logits

    def times(self, factor: Floats1d) -> "Rows":
        """Each row times its factor, (n,)."""
        of_matrix = factor[:, None] if self.d_rows.ndim == 2 else factor
        return Rows(self.f * factor, self.d_rows * of_matrix)


def log_sigmoid(z: FloatsXd) -> FloatsXd:
    """The log of 1 / (1 + exp(-z)), exact at both ends. That of 1 minus the sigmoid is of -z."""
    return -get_array_module(z).logaddexp(0, -z)


def sigmoid(z: FloatsXd) -> FloatsXd:
    """1 / (1 + exp(-z)), without overflow and without cancellation where it is small."""
    return get_array_module(z).exp(log_sigmoid(z))


def binary_cross_entropy(logits: Floats1d, targets: Floats1d) -> Rows:
    """-log of the probability of the true answer, row by row, exact at both ends of the sigmoid.

    logits (Floats1d): (n,), or any other shape.
    targets (Floats1d): The same shape, 1.0 yes, 0.0 no.
    RETURNS (Rows): Nats, and the gradient, sigmoid - target.
    """
    xp = get_array_module(logits)
    towards = xp.where(targets > 0, logits, -logits)
    wrong = sigmoid(-towards)  # 1 minus the probability, without cancellation
    return Rows(-log_sigmoid(towards), xp.where(targets > 0, -wrong, wrong))


def logsumexp(z: Floats2d) -> Floats2d:
    """Stable log of the summed exponentials of each row. RETURNS (Floats2d): (n, 1)."""
    xp = get_array_module(z)
    top = xp.max(z, axis=1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(z - top), axis=1, keepdims=True))


def gold_rows(logits: Floats2d, gold: Floats2d) -> GoldRows:
    """The three quantities every loss of p(gold) needs, exact even where p(gold) underflows.

    logits (Floats2d): (n, K), unnormalised.
    gold (Floats2d): (n, K), above 0 for every acceptable class, at least one per row.
    """
    xp = get_array_module(logits)
    inside = xp.where(gold > 0, logits, -xp.inf)
    log_z, log_gold = logsumexp(logits), logsumexp(inside)
    q = xp.exp(inside - log_gold)
    log_x = xp.minimum((log_gold - log_z)[:, 0], 0.0)  # never above by rounding
    return GoldRows(log_x, xp.exp(logits - log_z) - q, q)
