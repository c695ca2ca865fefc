"""All paths through linear chains of tags, summed: partition functions, marginals, and their gradients.

The sums run in float64: each log-sum over previous tags is one matrix product of exponentials scaled by
the greatest. What lies more than 690 nats below that is lost.
"""

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from .packing import Transitions, pack

TINY = 1e-300  # stands for a sum over nothing: its logarithm is finite


class PathSums:
    """The scores of all paths of every sequence, summed: partition function, marginals, gradients.

    scores (Floats2d): (n_tokens, n_tags), the sequences one after another; -inf shuts a tag.
    lengths (Ints1d): (n_sequences,), tokens per sequence.
    transitions (Transitions): Their scores. They leave each sequence a path.
    """

    def __init__(self, scores: Floats2d, lengths: Ints1d, transitions: Transitions) -> None:
        self.xp = xp = get_array_module(scores)
        self.packing = packing = pack(lengths, xp)
        rows = scores[packing.token].astype("float64")
        start, trans, end = (xp.asarray(t, dtype="float64") for t in transitions)
        shift = trans.max()
        self.trans = xp.exp(trans - shift)
        self.from_left, self.to_right = xp.empty_like(rows), xp.empty_like(rows)  # scaled exponentials
        self.left, self.right = xp.ones_like(rows), xp.ones_like(rows)  # their sums over neighbours
        alpha, beta = rows + start, xp.empty_like(rows)  # log sums up to a tag, and behind it
        beta[packing.last] = end
        for i in range(1, packing.n_positions):
            here, before = packing.at(i), packing.before(i)
            top, self.from_left[before] = self._scaled(alpha[before])
            self.left[here] = xp.maximum(self.from_left[before] @ self.trans, TINY)
            alpha[here] = rows[here] + (top + shift + xp.log(self.left[here]))
        for i in range(packing.n_positions - 1, 0, -1):
            here, before = packing.at(i), packing.before(i)
            top, self.to_right[here] = self._scaled(rows[here] + beta[here])
            self.right[before] = xp.maximum(self.to_right[here] @ self.trans.T, TINY)
            beta[before] = top + shift + xp.log(self.right[before])
        self.log_mu = alpha + beta
        top, scaled = self._scaled(self.log_mu[packing.at(0)] if len(rows) else rows)
        self.log_z = (top + xp.log(scaled.sum(axis=1, keepdims=True)))[:, 0]  # the longest first
        self.log_mu -= self.log_z[packing.sequence][:, None]

    def _scaled(self, a: Floats2d) -> tuple[Floats2d, Floats2d]:
        """The greatest of each row, and the exponentials of the row below it."""
        top = a.max(axis=1, keepdims=True) if len(a) else a[:, :1]
        return top, self.xp.exp(a - top)

    @property
    def log_marginals(self) -> Floats2d:
        """Log probability of each tag at each token, over all paths. (n_tokens, n_tags)"""
        return self.log_mu[self.packing.row]

    def d_log_z(self, weights: Floats1d | float = 1.0) -> tuple[Floats2d, Transitions]:
        """Gradient of the summed log partition functions: expected tags and tag pairs.

        weights (Floats1d | float): (n_sequences,), factor of each, longest sequence first.
        RETURNS: (n_tokens, n_tags), and the gradient on the transitions.
        """
        xp, packing = self.xp, self.packing
        mu = xp.exp(self.log_mu)
        mu *= weights if isinstance(weights, float) else weights[packing.sequence][:, None]
        later = slice(packing.starts[1], None) if packing.n_positions else slice(0)
        d_trans = self.trans * (self.from_left[packing.previous].T @ (mu[later] / self.left[later]))
        first = mu[packing.at(0)] if len(mu) else mu
        gradient = Transitions(first.sum(axis=0), d_trans, mu[packing.last].sum(axis=0))
        return mu[packing.row], gradient

    def d_log_sums(self, d_sums: Floats2d) -> tuple[Floats2d, Transitions]:
        """Backpropagate through the log sums of all paths through a tag, log marginal + log z.

        d_sums (Floats2d): (n_tokens, n_tags), gradient on them.
        RETURNS: As `d_log_z`.
        """
        xp, packing = self.xp, self.packing
        d_alpha = d_sums[packing.token].astype("float64")
        d_beta, d_rows = d_alpha.copy(), xp.zeros_like(d_alpha)
        left, right = xp.empty_like(d_alpha), xp.empty_like(d_alpha)
        for i in range(packing.n_positions - 1, 0, -1):
            here, before = packing.at(i), packing.before(i)
            left[here] = d_alpha[here] / self.left[here]
            d_alpha[before] += self.from_left[before] * (left[here] @ self.trans.T)
        for i in range(1, packing.n_positions):
            here, before = packing.at(i), packing.before(i)
            right[before] = d_beta[before] / self.right[before]
            passed = self.to_right[here] * (right[before] @ self.trans)
            d_beta[here] += passed
            d_rows[here] += passed
        later = slice(packing.starts[1], None) if packing.n_positions else slice(0)
        pairs = self.from_left[packing.previous].T @ left[later]
        pairs += right[packing.previous].T @ self.to_right[later]
        first = d_alpha[packing.at(0)] if len(d_alpha) else d_alpha
        gradient = Transitions(first.sum(axis=0), self.trans * pairs, d_beta[packing.last].sum(axis=0))
        d_rows += d_alpha
        return d_rows[packing.row], gradient
