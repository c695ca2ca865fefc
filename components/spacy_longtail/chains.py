"""Linear chains of tags: best paths, path sums and their gradients, vectorised over sequences and tags.

Sequences of different lengths are packed: position after position, the longest sequence first, so that
the live rows of a position are the first of those before, and memory grows with the tokens alone. Path
sums run in float64: each log-sum over previous tags is then one matrix product of exponentials scaled by
the greatest. Where all that counts lies so far below it that it underflows, the sum is taken again in
log space, so that path sums are exact however far scores lie apart. What is impossible scores -inf.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d

TINY = 1e-300  # stands for a sum over nothing: its logarithm is finite
LEAST = 1e-290  # the least scaled sum that has lost nothing to underflow, which begins at 1e-308
NOWHERE = -1e300  # stands for -inf where that would be taken from itself
MOST_PAIRS = 2**22  # tag pairs that are looked at together, for a bound on memory


class Transitions(NamedTuple):
    """-inf shuts a tag, or a pair of tags; some pair must be open."""

    start: Floats1d  # (n_tags,), score of a tag at the first position
    trans: Floats2d  # (n_tags, n_tags), score of [from, to]
    end: Floats1d  # (n_tags,), score of a tag at the last position

    def plus(self, other: "Transitions") -> "Transitions":
        return Transitions(*(a + b for a, b in zip(self, other, strict=True)))


class Packing(NamedTuple):
    token: Ints1d  # (n_tokens,), the token of each packed row
    row: Ints1d  # (n_tokens,), the packed row of each token
    sequence: Ints1d  # (n_tokens,), which sequence a row belongs to, the longest being 0
    previous: Ints1d  # (n_tokens - n_sequences,), the row before each row of a later position
    last: Ints1d  # (n_sequences,), the row of each sequence's last token
    starts: list[int]  # (n_positions + 1,), first row of each position

    def at(self, i: int) -> slice:
        """The rows of a position."""
        return slice(self.starts[i], self.starts[i + 1])

    def before(self, i: int) -> slice:
        """The rows one position earlier, of the sequences that reach position i."""
        first = self.starts[i - 1]
        return slice(first, first + self.starts[i + 1] - self.starts[i])

    @property
    def n_positions(self) -> int:
        return len(self.starts) - 1


def pack(lengths: Ints1d, xp: Any = np) -> Packing:
    """The packed order of sequences that stand one after another; empty ones have no row.

    lengths (Ints1d): (n_sequences,), tokens a sequence.
    """
    lengths = to_numpy(lengths).astype("int64")
    ranks = np.empty_like(lengths)
    order = np.argsort(-lengths, kind="stable")
    ranks[order] = np.arange(len(lengths))
    position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    token = np.lexsort((np.repeat(ranks, lengths), position))
    row = np.empty_like(token)
    row[token] = np.arange(len(token))
    starts = np.concatenate([[0], np.cumsum(np.bincount(position))]).astype("int64")
    sequence = np.arange(len(token)) - starts[position[token]]
    later = position[token] > 0
    previous = starts[position[token][later] - 1] + sequence[later]
    kept = lengths[order][lengths[order] > 0]
    last = starts[kept - 1] + np.arange(len(kept))
    token, row, sequence, previous, last = map(xp.asarray, (token, row, sequence, previous, last))
    return Packing(token, row, sequence, previous, last, starts.tolist())


def viterbi(scores: Floats2d, lengths: Ints1d, transitions: Transitions) -> Ints1d:
    """The best tag path of every sequence.

    scores (Floats2d): (n_tokens, n_tags), the sequences one after another.
    lengths (Ints1d): (n_sequences,), tokens a sequence, summing to n_tokens.
    RETURNS (Ints1d): (n_tokens,) tag ids; ties go to the lowest tag.
    """
    xp = get_array_module(scores)
    lengths = to_numpy(lengths)
    block = max(MOST_PAIRS // scores.shape[1] ** 2, 1)
    if len(lengths) > block:
        starts = np.arange(0, len(lengths), block)
        bounds = np.add.reduceat(lengths, starts).cumsum()[:-1].tolist()
        parts = zip(xp.split(scores, bounds), np.split(lengths, starts[1:]), strict=True)
        return xp.concatenate([viterbi(own, n, transitions) for own, n in parts])
    packing = pack(lengths, xp)
    rows = scores[packing.token]
    best = transitions.start + rows[packing.at(0)] if len(rows) else rows
    back = xp.zeros(rows.shape, dtype="int32")
    into = xp.ascontiguousarray(transitions.trans.T)
    for i in range(1, packing.n_positions):  # over positions only
        here = packing.at(i)
        n_live = here.stop - here.start
        paths = best[:n_live, None, :] + into[None]
        back[here] = paths.argmax(axis=2)
        best[:n_live] = xp.take_along_axis(paths, back[here][:, :, None], axis=2)[:, :, 0] + rows[here]
    tag = (best + transitions.end).argmax(axis=1)
    tags = xp.zeros(len(rows), dtype="int64")
    for i in range(packing.n_positions - 1, -1, -1):
        here = packing.at(i)
        n_live = here.stop - here.start
        tags[here] = tag[:n_live]
        tag[:n_live] = back[here][xp.arange(n_live), tag[:n_live]]
    return tags[packing.row]


def best_legal(scores: Floats2d, lengths: Ints1d, legality: Transitions) -> Ints1d:
    """As `viterbi` where all legal transitions score 0: only sequences whose best tags clash need it."""
    xp = get_array_module(scores)
    tags = scores.argmax(axis=1)
    lengths = to_numpy(lengths).astype("int64")
    lengths = lengths[lengths > 0]
    if not len(tags):
        return tags
    starts = np.cumsum(lengths) - lengths
    first, last = xp.asarray(starts), xp.asarray(starts + lengths - 1)
    cost = xp.zeros(len(tags), dtype=scores.dtype)
    cost[1:] = legality.trans[tags[:-1], tags[1:]]
    cost[first] = legality.start[tags[first]]
    cost[last] += legality.end[tags[last]]
    clash = np.add.reduceat(to_numpy(cost), starts) < 0
    if clash.any():
        inside = xp.asarray(np.repeat(clash, lengths))
        tags[inside] = viterbi(scores[inside], lengths[clash], legality)
    return tags


def path_score(
    scores: Floats2d, tags: Ints1d, lengths: Ints1d, transitions: Transitions
) -> tuple[float, Floats2d, Transitions]:
    """The summed score of one path a sequence, and its gradient: the tags and tag pairs on it.

    tags (Ints1d): (n_tokens,), the paths one after another.
    """
    xp = get_array_module(scores)
    n_tags = scores.shape[1]
    lengths = to_numpy(lengths)[to_numpy(lengths) > 0]
    ends = np.cumsum(lengths)
    later = np.ones(len(tags), dtype=bool)
    later[ends - lengths] = False
    here = xp.asarray(np.flatnonzero(later))
    first, last = tags[xp.asarray(ends - lengths)], tags[xp.asarray(ends - 1)]
    pairs = xp.zeros(n_tags**2, dtype="int64")
    if len(here):  # CuPy refuses to count nothing
        pairs = xp.bincount(tags[here - 1] * n_tags + tags[here], minlength=n_tags**2)
    counts = Transitions(
        xp.bincount(first, minlength=n_tags),
        pairs.reshape(n_tags, n_tags),
        xp.bincount(last, minlength=n_tags),
    )
    at = xp.arange(len(tags)), tags
    total = float(scores[at].astype("float64").sum())
    used = ((n > 0, n, t) for n, t in zip(counts, transitions, strict=True))  # 0 times -inf is no number
    total += sum(float((n[at] * t[at]).sum()) for at, n, t in used)
    d_scores = xp.zeros(scores.shape, dtype="float64")
    d_scores[at] = 1.0
    return total, d_scores, counts


class Lost(NamedTuple):
    """Sums over a neighbour's tags that underflowed."""

    live: Ints1d  # (n_lost,), which sequences of the position
    a: Floats2d  # (n_lost, n_tags), log path sums at the neighbour
    log_sums: Floats2d  # (n_lost, n_tags), over the neighbour's tags, taken in log space


class PathSums:
    """The scores of all paths of every sequence, summed: partition function, marginals, gradients.

    scores (Floats2d): (n_tokens, n_tags), the sequences one after another; -inf shuts a tag.
    lengths (Ints1d): (n_sequences,), tokens a sequence.
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
        top, scaled = self._scaled(self.log_mu[packing.at(0)] if len(rows) else rows)
        self.log_z = (top + xp.log(xp.maximum(scaled.sum(axis=1, keepdims=True), TINY)))[:, 0]
        log_z = xp.maximum(self.log_z, NOWHERE)  # the longest sequence first
        self.log_mu -= log_z[packing.sequence][:, None]

    def _scaled(self, a: Floats2d) -> tuple[Floats2d, Floats2d]:
        """The greatest of each row, and the exponentials of the row below it."""
        top = a.max(axis=1, keepdims=True) if len(a) else a[:, :1]
        return top, self.xp.exp(a - self.xp.maximum(top, NOWHERE))

    def _log_sums(self, rows: Floats2d, start: Floats1d, end: Floats1d, exact: bool) -> Floats2d:
        """Of all paths through a tag, by a sweep forward and one backward over positions.

        rows (Floats2d): (n_tokens, n_tags), the scores, packed. start, end (Floats1d): (n_tags,).
        exact (bool): Whether sums that underflow are taken in log space. To look for them at each
            position is slower, on a GPU above all.
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
                own = (log_sums, self.left[here], alpha[before], self.log_trans)
                self.lost_left[i] = self._mend(*own)
            alpha[here] = rows[here] + log_sums
        for i in range(packing.n_positions - 1, 0, -1):
            here, before = packing.at(i), packing.before(i)
            after = rows[here] + beta[here]
            top, self.to_right[here] = self._scaled(after)
            self.right[before] = xp.maximum(self.to_right[here] @ self.trans.T, TINY)
            log_sums = top + self.shift + xp.log(self.right[before])
            if exact:
                own = (log_sums, self.right[before], after, self.log_trans.T)
                self.lost_right[i] = self._mend(*own)
            beta[before] = log_sums
        alpha += beta
        return alpha

    def _mend(self, log_sums: Floats2d, sums: Floats2d, a: Floats2d, trans: Floats2d) -> list[Lost]:
        """Put right, in place, the log sums over a neighbour's tags where the scaled sums underflowed.

        log_sums, sums (Floats2d): (n_live, n_tags), and the scaled sums they are of: these become
            infinite where something was lost, so that gradients by matrix product pass it by.
        a (Floats2d): (n_live, n_tags), log path sums at the neighbour.
        trans (Floats2d): (n_tags, n_tags), scores of [neighbour's tag, own tag].
        RETURNS (List[Lost]): What was lost, in parts of bounded size.
        """
        xp = self.xp
        small = sums < LEAST
        if not bool(small.any()):
            return []
        has_path = (a > -xp.inf).astype("float64") @ (trans > -xp.inf).astype("float64") > 0
        log_sums[~has_path] = -xp.inf
        which = xp.flatnonzero((small & has_path).any(axis=1))
        block = max(MOST_PAIRS // trans.size, 1)
        found = []
        for k in range(0, len(which), block):
            live = which[k : k + block]
            paths = a[live][:, :, None] + trans
            top = paths.max(axis=1)
            scaled = xp.exp(paths - xp.maximum(top, NOWHERE)[:, None, :]).sum(axis=1)
            log_sums[live] = top + xp.log(xp.maximum(scaled, TINY))
            sums[live] = xp.inf
            found.append(Lost(live, a[live], log_sums[live]))
        return found

    def _lost_pairs(self, i: int, d: Floats2d, forward: bool) -> Iterator[tuple[Ints1d, Floats2d]]:
        """The gradient on a position's log sums over a neighbour's tags, passed on to the pairs of tags,
        where these sums were taken in log space.

        i (int): The later of the two positions. d (Floats2d): (n_live, n_tags), the gradient.
        forward (bool): Whether the neighbour is the earlier.
        YIELDS (Tuple[Ints1d, Floats2d]): Which sequences; (n_lost, neighbour's tags, own tags).
        """
        lost, trans = self.lost_left, self.log_trans
        if not forward:
            lost, trans = self.lost_right, self.log_trans.T
        for live, a, log_sums in lost.get(i, ()):
            own = self.xp.maximum(log_sums, NOWHERE)
            yield live, self.xp.exp(a[:, :, None] + trans - own[:, None, :]) * d[live][:, None, :]

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
        d_trans = self.trans * pairs + d_lost
        first = d_alpha[packing.at(0)] if len(d_alpha) else d_alpha
        gradient = Transitions(first.sum(axis=0), d_trans, d_beta[packing.last].sum(axis=0))
        d_rows += d_alpha
        return d_rows[packing.row], gradient
