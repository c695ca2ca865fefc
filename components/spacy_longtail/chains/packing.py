"""Packed sequences, and single paths through linear chains of tags: the best or a given path.

The functions are vectorised over sequences and tags. Sequences are packed position by position with
the longest sequence first, so that the sequences that reach a position are the first of those that
reach the position before it. Memory grows with the number of tokens alone. Impossible tags and tag
pairs have the score -inf.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d

MAX_PAIRS = 2**22  # tag pairs in memory at once


class Transitions(NamedTuple):
    """Scores of starts, tag pairs and ends. -inf masks a tag or a pair, but not all of them."""

    start: Floats1d  # (n_tags,), score of a tag at the first position
    trans: Floats2d  # (n_tags, n_tags), score of [from, to]
    end: Floats1d  # (n_tags,), score of a tag at the last position

    def plus(self, other: "Transitions") -> "Transitions":
        """Return the sum of two transitions."""
        return Transitions(*(a + b for a, b in zip(self, other, strict=True)))


class Packing(NamedTuple):
    """Order of tokens by position in their sequence."""

    token: Ints1d  # (n_tokens,), the token of each packed row
    row: Ints1d  # (n_tokens,), the packed row of each token
    sequence: Ints1d  # (n_tokens,), which sequence a row belongs to, the longest being 0
    previous: Ints1d  # (n_tokens - n_sequences,), the row before each row of a later position
    last: Ints1d  # (n_sequences,), the row of each sequence's last token
    starts: list[int]  # (n_positions + 1,), first row of each position

    def at(self, i: int) -> slice:
        """Return the rows of position i; empty if no sequence reaches it."""
        return slice(*self.starts[i : i + 2])

    def before(self, i: int) -> slice:
        """Return the rows one position before i, of the sequences that reach position i."""
        first = self.starts[i - 1]
        return slice(first, first + self.starts[i + 1] - self.starts[i])

    @property
    def n_positions(self) -> int:
        return len(self.starts) - 1


def pack(lengths: Ints1d, xp: ModuleType = np) -> Packing:
    """Return the packed order of concatenated sequences; empty sequences have no row.

    lengths (Ints1d): Tokens per sequence, shape (n_sequences,).
    xp (ModuleType): Array module of the result, NumPy or CuPy.
    """
    lengths = to_numpy(lengths).astype("int64")
    order = np.argsort(-lengths, kind="stable")
    position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    token = np.lexsort((np.repeat(np.argsort(order), lengths), position))
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
    """Return the best tag sequence of each sequence.

    scores (Floats2d): Scores of tags, shape (n_tokens, n_tags), the sequences one after another.
    lengths (Ints1d): Tokens per sequence, shape (n_sequences,), summing to n_tokens.
    transitions (Transitions): Scores of starts, tag pairs and ends.
    RETURNS (Ints1d): Columns of tags, shape (n_tokens,). Ties go to the lowest column.
    SOURCE: docs/methods.md, "Tags and decoding".
    """
    xp = get_array_module(scores)
    lengths = to_numpy(lengths)
    block = max(MAX_PAIRS // scores.shape[1] ** 2, 1)
    if len(lengths) > block:
        starts = np.arange(0, len(lengths), block)
        bounds = np.add.reduceat(lengths, starts).cumsum()[:-1].tolist()
        parts = zip(xp.split(scores, bounds), np.split(lengths, starts[1:]), strict=True)
        return xp.concatenate([viterbi(part, n, transitions) for part, n in parts])
    packing = pack(lengths, xp)
    rows = scores[packing.token]
    best = rows + transitions.start  # of the best path that ends in each tag
    into = xp.ascontiguousarray(transitions.trans.T)
    for i in range(1, packing.n_positions):  # over positions only
        here, before = packing.at(i), packing.before(i)
        best[here] = (best[before][:, None, :] + into).max(axis=2) + rows[here]
    tags = xp.zeros(len(rows), dtype="int64")
    tags[packing.last] = (best[packing.last] + transitions.end).argmax(axis=1)
    for i in range(packing.n_positions - 1, 0, -1):
        before = packing.before(i)
        tags[before] = (best[before] + into[tags[packing.at(i)]]).argmax(axis=1)
    return tags[packing.row]


def best_legal(scores: Floats2d, lengths: Ints1d, legality: Transitions) -> Ints1d:
    """Return the best legal tag sequence of each sequence, for transitions that score 0 or -inf.

    The result is that of `viterbi`, which runs only on sequences whose most likely tags, token by
    token, are no legal sequence.
    """
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
) -> tuple[float, tuple[Floats2d, Transitions]]:
    """Return the score of one path per sequence, summed over sequences, and its gradient.

    scores (Floats2d): Scores of tags, shape (n_tokens, n_tags), the sequences one after another.
    tags (Ints1d): Columns of the paths, shape (n_tokens,).
    lengths (Ints1d): Tokens per sequence, shape (n_sequences,).
    transitions (Transitions): Scores of starts, tag pairs and ends.
    RETURNS (Tuple[float, Tuple[Floats2d, Transitions]]): The sum, and how often each tag and each
        tag pair is on a path.
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
    n_first, n_last = (xp.bincount(tag, minlength=n_tags) for tag in (first, last))
    counts = Transitions(n_first, pairs.reshape(n_tags, n_tags), n_last)
    at = xp.arange(len(tags)), tags
    total = float(scores[at].astype("float64").sum())
    used = ((n > 0, n, t) for n, t in zip(counts, transitions, strict=True))  # 0 times -inf is NaN
    total += sum(float((n[at] * t[at]).sum()) for at, n, t in used)
    d_scores = xp.zeros(scores.shape, dtype="float64")
    d_scores[at] = 1.0
    return total, (d_scores, counts)
