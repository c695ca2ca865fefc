"""All paths through linear chains of tags, summed: partition functions, marginals, gradients.

The sums run in float64: each log-sum over previous tags is one matrix product of exponentials that
the greatest scales. A sum whose terms all underflow is taken again in log space, so that path sums
are exact however far scores lie apart.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from .packing import MOST_PAIRS, Transitions, pack

TINY = 1e-300  # stands for a sum over nothing: its logarithm is finite
LEAST = 1e-290  # the least scaled sum that has lost nothing to underflow, which begins at 1e-308
NOWHERE = -1e300  # stands for -inf where that would be taken from itself


class Lost(NamedTuple):
    """Sums over a neighbour's tags that underflowed."""

    live: Ints1d  # (n_lost,), which sequences of the position
    a: Floats2d  # (n_lost, n_tags), log path sums at the neighbour
    log_sums: Floats2d  # (n_lost, n_tags), over the neighbour's tags, taken in log space


class PathSums:
    """The scores of all paths of every sequence, summed: partition function, marginals, gradients.

    scores (Floats2d): (n_tokens, n_tags), the sequences one after another; -inf shuts a tag.
    lengths (Ints1d): (n_sequences,), tokens per sequence.
    transitions (Transitions): Their scores. A sequence that they leave no path has log z -inf.
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
        shut = bool(len(rows)) and float(rows.min()) == -np.inf  # sums over nothing are to be expected
        self.log_mu = self._log_sums(rows, start, end, exact=shut)
        if len(rows) and not shut and not min(float(self.left.min()), float(self.right.min())) >= LEAST:
            self.log_mu = self._log_sums(rows, start, end, exact=True)
        top, scaled = self._scaled(self.log_mu[packing.at(0)])
        self.log_z = (top + xp.log(xp.maximum(scaled.sum(axis=1, keepdims=True), TINY)))[:, 0]
        log_z = xp.maximum(self.log_z, NOWHERE)  # the longest sequence first
        self.log_mu -= log_z[packing.sequence][:, None]

    def _scaled(self, a: Floats2d) -> tuple[Floats2d, Floats2d]:
        """The greatest of each row, and the exponentials of the row below it."""
        top = a.max(axis=1, keepdims=True) if len(a) else a[:, :1]
        return top, self.xp.exp(a - self.xp.maximum(top, NOWHERE))

    def _log_sums(self, rows: Floats2d, start: Floats1d, end: Floats1d, exact: bool) -> Floats2d:
        """Of all paths through a tag; `exact` looks for sums that underflow: slow on a GPU."""
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
        """Correct, in place, log sums over a neighbour's tags where the scaled sums underflowed.

        log_sums, sums (Floats2d): (n_live, n_tags), and the scaled sums they are of: these become
            infinite where something was lost, so that gradients by matrix product pass it by.
        a (Floats2d): (n_live, n_tags), log path sums at the neighbour.
        trans (Floats2d): (n_tags, n_tags), scores of [neighbour's tag, own tag].
        """
        xp = self.xp
        small = sums < LEAST
        if not bool(small.any()):
            return []
        has_path = (a > -xp.inf).astype("float64") @ (trans > -xp.inf).astype("float64") > 0
        log_sums[~has_path] = -xp.inf
        which = xp.flatnonzero((small & has_path).any(axis=1))
        block = max(MOST_PAIRS // trans.size, 1)
        parts = []
        for k in range(0, len(which), block):
            live = which[k : k + block]
            paths = a[live][:, :, None] + trans
            top = paths.max(axis=1)
            scaled = xp.exp(paths - xp.maximum(top, NOWHERE)[:, None, :]).sum(axis=1)
            log_sums[live] = top + xp.log(xp.maximum(scaled, TINY))
            sums[live] = xp.inf
            parts.append(Lost(live, a[live], log_sums[live]))
        return parts

    def _lost_pairs(self, i: int, d: Floats2d, forward: bool) -> Iterator[tuple[Ints1d, Floats2d]]:
        """Pass the gradient on log sums that were taken in log space on to the pairs of tags.

        i (int): The later of the two positions. d (Floats2d): (n_live, n_tags), the gradient.
        forward (bool): Whether the neighbour is the earlier.
        YIELDS (Tuple[Ints1d, Floats2d]): Which sequences; (n_lost, neighbour's tags, own tags).
        """
        lost = self.lost_left if forward else self.lost_right
        trans = self.log_trans if forward else self.log_trans.T
        for live, a, log_sums in lost.get(i, ()):
            floor = self.xp.maximum(log_sums, NOWHERE)
            yield live, self.xp.exp(a[:, :, None] + trans - floor[:, None, :]) * d[live][:, None, :]

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
        for i in self.lost_left:
            for _, d_pairs in self._lost_pairs(i, mu[packing.at(i)], forward=True):
                d_trans += d_pairs.sum(axis=0)
        starts, ends = mu[packing.at(0)].sum(axis=0), mu[packing.last].sum(axis=0)
        return mu[packing.row], Transitions(starts, d_trans, ends)

    def d_log_sums(self, d_sums: Floats2d) -> tuple[Floats2d, Transitions]:
        """Backpropagate through the log sums of all paths through a tag, log marginal + log z.

        d_sums (Floats2d): (n_tokens, n_tags), gradient on them.
        RETURNS: As `d_log_z`.
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
