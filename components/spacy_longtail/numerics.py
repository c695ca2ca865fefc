"""Array functions that losses, heads and pipes share, for NumPy and CuPy alike."""

from typing import NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, FloatsXd


class Rows(NamedTuple):
    f: FloatsXd  # (n,), loss of each row; of binary losses in the shape of the logits
    d_rows: FloatsXd  # d f / d logits, in the shape of the logits: (n, K) or (n,)

    def times(self, factor: Floats1d) -> "Rows":
        """Return each row times its factor.

        factor (Floats1d): Factors of the rows, shape (n,).
        """
        of_matrix = factor[:, None] if self.d_rows.ndim == 2 else factor
        return Rows(self.f * factor, self.d_rows * of_matrix)


def log_sigmoid(z: FloatsXd) -> FloatsXd:
    """Return the log of 1 / (1 + exp(-z)), exact at both ends; pass -z for 1 minus the sigmoid."""
    return -get_array_module(z).logaddexp(0, -z)


def sigmoid(z: FloatsXd) -> FloatsXd:
    """Return 1 / (1 + exp(-z)), without overflow and without cancellation where it is small."""
    return get_array_module(z).exp(log_sigmoid(z))


def binary_cross_entropy(logits: FloatsXd, targets: FloatsXd) -> Rows:
    """Return -log of the probability of the true answer, exact at both ends of the sigmoid.

    logits (FloatsXd): Unnormalised scores of the answer yes, of any shape.
    targets (FloatsXd): 1.0 for yes, 0.0 for no, in the same shape.
    RETURNS (Rows): Losses in nats, and the gradient, sigmoid - target.
    """
    xp = get_array_module(logits)
    towards = xp.where(targets > 0, logits, -logits)
    wrong = sigmoid(-towards)  # 1 minus the probability, without cancellation
    return Rows(-log_sigmoid(towards), xp.where(targets > 0, -wrong, wrong))


def logsumexp(z: Floats2d) -> Floats2d:
    """Return the log of the summed exponentials of each row, shape (n, 1), without overflow."""
    xp = get_array_module(z)
    top = xp.max(z, axis=1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(z - top), axis=1, keepdims=True))
