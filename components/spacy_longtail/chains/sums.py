"""Sums over all paths through linear chains of tags: partition functions, marginals, gradients.

The sums are computed in float64. Each log-sum over the tags of a neighbour is one matrix
multiplication of exponentials, scaled by their maximum. If all terms of a sum underflow, it is
computed again in log space, so that path sums are exact for any difference of scores.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from .packing import MAX_PAIRS, Transitions, pack

TINY = 1e-300  # in place of an empty sum, so that its logarithm is finite
MIN_SUM = 1e-290  # minimum of a scaled sum without underflow, which begins at 1e-308
FLOOR = -1e300  # in place of -inf, where -inf minus -inf would be NaN


def tag_marginals(scores: Floats2d, lengths: Ints1d, transitions: Transitions) -> Floats2d:
    """Return the probability of each tag at each token, for prediction.

    scores (Floats2d): Scores of tags, shape (n_tokens, n_tags), the sequences one after another;
        -inf masks a tag.
    lengths (Ints1d): Tokens per sequence, shape (n_sequences,).
    transitions (Transitions): Scores of starts, tag pairs and ends.
    RETURNS (Floats2d): Shape (n_tokens, n_tags), float64.
    SOURCE: docs/methods.md, "Conditional random field".
    """
    xp = get_array_module(scores)
    return xp.exp(PathSums(scores, lengths, transitions).log_marginals)


class Lost(NamedTuple):
    """Sums over a neighbour's tags that underflowed and were computed in log space."""

    live: Ints1d  # (n_lost,), indices of the sequences among those that reach the position
    a: Floats2d  # (n_lost, n_tags), log path sums at the neighbour
    log_sums: Floats2d  # (n_lost, n_tags), log sums over the neighbour's tags


class PathSums:
    """Sums over all paths of each sequence: partition function, marginals and gradients.

    scores (Floats2d): Scores of tags, shape (n_tokens, n_tags), the sequences one after another;
        -inf masks a tag.
    lengths (Ints1d): Tokens per sequence, shape (n_sequences,).
    transitions (Transitions): Scores of starts, tag pairs and ends.

    `log_z` has one value for each sequence that is not empty, the longest first, and sequences of
    the same length in their given order. A sequence without a possible path has log z -inf.

    SOURCE: docs/methods.md, "Conditional random field".
    """

    def __init__(self, scores: Floats2d, lengths: Ints1d, transitions: Transitions) -> None:
        self.xp = xp = get_array_module(scores)
        self.packing = packing = pack(lengths, xp)
        rows = scores[packing.token].astype("float64")
        start, self.log_trans, end = (xp.asarray(t, dtype="float64") for t in transitions)
        self.shift = self.log_trans.max()
        self.trans = xp.exp(self.log_trans - self.shift)
        self.from_left, self.to_right = xp.empty_like(rows), xp.empty_like(rows)  # scaled exponentials
        self.left, self.right = xp.ones_like(rows), xp.ones_like(rows)  # their sums over neighbours
        self.lost_left: dict[int, list[Lost]] = {}  # by the later position
        self.lost_right: dict[int, list[Lost]] = {}
        has_masked = bool(len(rows)) and float(rows.min()) == -np.inf  # then some sums are empty
        self.log_mu = self._log_sums(rows, start, end, exact=has_masked)
        smallest = xp.minimum(self.left, self.right)  # NaN where one of them is
        if len(rows) and not has_masked and not float(smallest.min()) >= MIN_SUM:
            self.log_mu = self._log_sums(rows, start, end, exact=True)
        top, scaled = self._scaled(self.log_mu[packing.at(0)])
        self.log_z = (top + xp.log(xp.maximum(scaled.sum(axis=1, keepdims=True), TINY)))[:, 0]
        log_z = xp.maximum(self.log_z, FLOOR)
        self.log_mu -= log_z[packing.sequence][:, None]

    def _scaled(self, a: Floats2d) -> tuple[Floats2d, Floats2d]:
        """Return the maximum of each row, and the exponentials of the row minus its maximum."""
        top = a.max(axis=1, keepdims=True) if len(a) else a[:, :1]
        return top, self.xp.exp(a - self.xp.maximum(top, FLOOR))

    def _log_sums(self, rows: Floats2d, start: Floats1d, end: Floats1d, exact: bool) -> Floats2d:
        """Return the log sum of all paths through each tag, in packed order.

        exact (bool): Whether to look for sums that underflow, which is slow on a GPU.
        """
        xp, packing = self.xp, self.packing
        alpha, beta = rows + start, xp.empty_like(rows)
        beta[packing.last] = end
        for i in range(1, packing.n_positions):
            here, before = packing.at(i), packing.before(i)
            top, self.from_left[before] = self._scaled(alpha[before])
            self.left[here] = xp.maximum(self.from_left[before] @ self.trans, TINY)
            log_sums = top + self.shift + xp.log(self.left[here])
            if exact:
                self.lost_left[i] = self._exact(log_sums, self.left[here], alpha[before], self.log_trans)
            alpha[here] = rows[here] + log_sums
        for i in range(packing.n_positions - 1, 0, -1):
            here, before = packing.at(i), packing.before(i)
            after = rows[here] + beta[here]
            top, self.to_right[here] = self._scaled(after)
            self.right[before] = xp.maximum(self.to_right[here] @ self.trans.T, TINY)
            log_sums = top + self.shift + xp.log(self.right[before])
            if exact:
                self.lost_right[i] = self._exact(log_sums, self.right[before], after, self.log_trans.T)
            beta[before] = log_sums
        alpha += beta
        return alpha

    def _exact(self, log_sums: Floats2d, sums: Floats2d, a: Floats2d, trans: Floats2d) -> list[Lost]:
        """Correct log sums over a neighbour's tags in place where the scaled sums underflowed.

        log_sums (Floats2d): Log sums, shape (n_live, n_tags).
        sums (Floats2d): The scaled sums, in the same shape. They become infinite where they
            underflowed, so that gradients by matrix multiplication leave these out.
        a (Floats2d): Log path sums at the neighbour, shape (n_live, n_tags).
        trans (Floats2d): Scores of [neighbour's tag, own tag], shape (n_tags, n_tags).
        RETURNS (List[Lost]): The corrected sums, for the gradient.
        """
        xp = self.xp
        small = sums < MIN_SUM
        if not bool(small.any()):
            return []
        has_path = (a > -xp.inf).astype("float64") @ (trans > -xp.inf).astype("float64") > 0
        log_sums[~has_path] = -xp.inf
        which = xp.flatnonzero((small & has_path).any(axis=1))
        block = max(MAX_PAIRS // trans.size, 1)
        parts = []
        for k in range(0, len(which), block):
            live = which[k : k + block]
            paths = a[live][:, :, None] + trans
            top = paths.max(axis=1)
            scaled = xp.exp(paths - xp.maximum(top, FLOOR)[:, None, :]).sum(axis=1)
            log_sums[live] = top + xp.log(xp.maximum(scaled, TINY))
            sums[live] = xp.inf
            parts.append(Lost(live, a[live], log_sums[live]))
        return parts

    def _lost_pairs(self, i: int, d: Floats2d, forward: bool) -> Iterator[tuple[Ints1d, Floats2d]]:
        """Backpropagate through the log sums that were computed in log space, to pairs of tags.

        i (int): The later one of the two positions.
        d (Floats2d): Gradient of the log sums, shape (n_live, n_tags).
        forward (bool): Whether the neighbour is the earlier position.
        YIELDS (Tuple[Ints1d, Floats2d]): Indices of the sequences, and the gradient, shape
            (n_lost, neighbour's tags, own tags).
        """
        lost = self.lost_left if forward else self.lost_right
        trans = self.log_trans if forward else self.log_trans.T
        for live, a, log_sums in lost.get(i, ()):
            floor = self.xp.maximum(log_sums, FLOOR)
            yield live, self.xp.exp(a[:, :, None] + trans - floor[:, None, :]) * d[live][:, None, :]

    @property
    def log_marginals(self) -> Floats2d:
        """Return the log probability of each tag at each token, shape (n_tokens, n_tags)."""
        return self.log_mu[self.packing.row]

    def d_log_z(self, weights: Floats1d | float = 1.0) -> tuple[Floats2d, Transitions]:
        """Return the gradient of the summed log z: the expected counts of tags and tag pairs.

        weights (Floats1d | float): Factor on each sequence in the order of `log_z`, in its shape,
            or one number for all sequences.
        RETURNS (Tuple[Floats2d, Transitions]): Gradient of scores, shape (n_tokens, n_tags), and of
            transitions.
        """
        xp, packing = self.xp, self.packing
        mu = xp.exp(self.log_mu)
        factors = xp.broadcast_to(xp.asarray(weights), self.log_z.shape)
        mu *= factors[packing.sequence][:, None]
        later = slice(packing.starts[1], None) if packing.n_positions else slice(0)
        d_trans = self.trans * (self.from_left[packing.previous].T @ (mu[later] / self.left[later]))
        for i in self.lost_left:
            for _, d_pairs in self._lost_pairs(i, mu[packing.at(i)], forward=True):
                d_trans += d_pairs.sum(axis=0)
        starts, ends = mu[packing.at(0)].sum(axis=0), mu[packing.last].sum(axis=0)
        return mu[packing.row], Transitions(starts, d_trans, ends)

    def d_log_sums(self, d_sums: Floats2d) -> tuple[Floats2d, Transitions]:
        """Backpropagate through the log sums of all paths through a tag: log marginal plus log z.

        d_sums (Floats2d): Gradient of the log sums, shape (n_tokens, n_tags).
        RETURNS (Tuple[Floats2d, Transitions]): As for `d_log_z`.
        """
        xp, packing = self.xp, self.packing
        d_alpha = d_sums[packing.token].astype("float64")
        d_beta, d_rows = d_alpha.copy(), xp.zeros_like(d_alpha)
        left, right = xp.empty_like(d_alpha), xp.empty_like(d_alpha)
        d_lost = xp.zeros_like(self.trans)  # of sums in log space; the others' is made at the end
        for i in range(packing.n_positions - 1, 0, -1):
            here, before = packing.at(i), packing.before(i)
            left[here] = d_alpha[here] / self.left[here]
            d_alpha[before] += self.from_left[before] * (left[here] @ self.trans.T)
            for live, d_pairs in self._lost_pairs(i, d_alpha[here], forward=True):
                d_alpha[before][live] += d_pairs.sum(axis=2)
                d_lost += d_pairs.sum(axis=0)
        for i in range(1, packing.n_positions):
            here, before = packing.at(i), packing.before(i)
            right[before] = d_beta[before] / self.right[before]
            passed = self.to_right[here] * (right[before] @ self.trans)
            for live, d_pairs in self._lost_pairs(i, d_beta[before], forward=False):
                passed[live] += d_pairs.sum(axis=2)
                d_lost += d_pairs.sum(axis=0).T
            d_beta[here] += passed
            d_rows[here] += passed
        later = slice(packing.starts[1], None) if packing.n_positions else slice(0)
        pairs = self.from_left[packing.previous].T @ left[later]
        pairs += right[packing.previous].T @ self.to_right[later]
        starts, ends = d_alpha[packing.at(0)].sum(axis=0), d_beta[packing.last].sum(axis=0)
        d_rows += d_alpha
        return d_rows[packing.row], Transitions(starts, self.trans * pairs + d_lost, ends)
