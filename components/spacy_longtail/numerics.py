"""Array functions that losses, heads and decoding share, through `xp`: NumPy or CuPy."""

from typing import NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d, Ints2d

from .errors import Errors


class GoldRows(NamedTuple):
    log_x: Floats1d  # (n,), log probability of the acceptable classes together
    d_rows: Floats2d  # (n, K), p - q: the gradient of cross-entropy, row by row
    q: Floats2d  # (n, K), the softmax within the acceptable classes


def logsumexp(z: Floats2d) -> Floats2d:
    """Stable log of the summed exponentials of each row. RETURNS (Floats2d): (n, 1)."""
    xp = get_array_module(z)
    top = xp.max(z, axis=1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(z - top), axis=1, keepdims=True))


def gold_rows(logits: Floats2d, gold: Floats2d) -> GoldRows:
    """The three quantities every loss of p(gold) needs, exact even where p(gold) underflows.

    logits (Floats2d): (n, K), unnormalised.
    gold (Floats2d): (n, K), above 0 for every acceptable class, at least one a row.
    """
    xp = get_array_module(logits)
    inside = xp.where(gold > 0, logits, -xp.inf)
    log_z, log_gold = logsumexp(logits), logsumexp(inside)
    q = xp.exp(inside - log_gold)
    return GoldRows((log_gold - log_z)[:, 0], xp.exp(logits - log_z) - q, q)


def sentence_index(lengths: Ints1d | None, n_tokens: int, like: Floats1d) -> Ints1d:
    """The sentence that each token stands in. RETURNS (Ints1d): (n_tokens,)."""
    xp = get_array_module(like)
    if lengths is None:
        return xp.zeros(n_tokens, dtype="int64")
    lengths = xp.asarray(lengths, dtype="int64")
    if int(lengths.sum()) != n_tokens:
        raise ValueError(Errors.L009.format(found=int(lengths.sum()), n_tokens=n_tokens))
    ends = xp.cumsum(lengths)
    return xp.searchsorted(ends, xp.arange(n_tokens), side="right")


def viterbi(
    scores: Floats2d, lengths: Ints1d, start: Floats1d, trans: Floats2d, end: Floats1d
) -> Ints1d:
    """The best tag path of every sequence, vectorised over sequences and tags.

    scores (Floats2d): (n_tokens, n_tags), the sequences one after another.
    lengths (Ints1d): (n_sequences,), tokens a sequence, summing to n_tokens.
    start, end (Floats1d): (n_tags,), score of a tag at the first and the last position.
    trans (Floats2d): (n_tags, n_tags), score of [from, to].
    RETURNS (Ints1d): (n_tokens,) tag ids; ties go to the lowest tag.
    """
    xp = get_array_module(scores)
    lengths = xp.asarray(lengths, dtype="int64")
    n_seq, n_max = len(lengths), int(lengths.max()) if len(lengths) else 0
    if n_max == 0:
        return xp.zeros(0, dtype="int64")
    n_tags = scores.shape[1]
    inside = xp.arange(n_max)[None, :] < lengths[:, None]
    padded = xp.zeros((n_seq, n_max, n_tags), dtype=scores.dtype)
    padded[inside] = scores
    back = xp.zeros((n_max, n_seq, n_tags), dtype="int32")
    best = start + padded[:, 0]
    for i in range(1, n_max):  # over positions only
        paths = best[:, :, None] + trans[None]
        back[i] = paths.argmax(axis=1)
        live = inside[:, i][:, None]
        best = xp.where(live, paths.max(axis=1) + padded[:, i], best)
    tags: Ints2d = xp.zeros((n_seq, n_max), dtype="int64")
    rows = xp.arange(n_seq)
    tag = (best + end).argmax(axis=1)
    for i in range(n_max - 1, -1, -1):
        tags[:, i] = xp.where(inside[:, i], tag, 0)
        if i:
            tag = xp.where(inside[:, i], back[i][rows, tag], tag)
    return tags[inside]
