"""Losses of p(gold) on a linear chain (CRF): of the path's likelihood, or of each marginal."""

from typing import NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..chains.packing import Transitions, path_score
from ..chains.sums import PathSums
from ..chains.tags import ILLEGAL
from ..numerics import gold_rows
from .token import TagLoss


class ChainResult(NamedTuple):
    loss: float  # mean over annotated tokens
    d_scores: Floats2d  # (n_tokens, n_tags)
    d_transitions: Transitions


def chain_loss(
    loss: TagLoss,
    scores: Floats2d,
    gold: Floats2d,
    mask: Floats1d,
    lengths: Ints1d,
    transitions: Transitions,
) -> ChainResult:
    """A loss on a CRF, with its exact gradient.

    Plain cross-entropy is the negative log-likelihood of the gold path. Any other f(x) is the mean
    of f over the gold tags' marginal probabilities, differentiated through forward-backward.

    scores (Floats2d): (n_tokens, n_tags), emissions, the sequences one after another.
    gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag.
    mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation: every tag is acceptable there.
    lengths (Ints1d): (n_sequences,), tokens per sequence.
    RETURNS (ChainResult): Nats per annotated token, with cross-entropy; infinite where a sequence's
        acceptable tags are not a legal path.
    SOURCE: Lafferty et al. 2001; on marginals, ours (docs/methods.md, "Conditional random field").
    """
    xp = get_array_module(scores)
    n_tokens = float(mask.sum())
    if not n_tokens:
        return ChainResult(0.0, xp.zeros_like(scores), Transitions(*map(xp.zeros_like, transitions)))
    allowed = (gold > 0) | (mask == 0)[:, None]
    sums = PathSums(scores, lengths, transitions)
    if loss.log_likelihood:
        if bool((allowed.sum(axis=1) == 1).all()):
            gold_score, inside = path_score(scores, allowed.argmax(axis=1), lengths, transitions)
        else:
            paths = PathSums(xp.where(allowed, scores, ILLEGAL), lengths, transitions)
            gold_score, inside = float(paths.log_z.sum()), paths.d_log_z()
        value = (float(sums.log_z.sum()) - gold_score) / n_tokens
        factor, outside = 1 / n_tokens, sums.d_log_z()
    else:
        rows = gold_rows(sums.log_marginals, allowed)
        (f, u), counted = loss.of_gold(rows.log_x), mask.astype("float64") / n_tokens
        weight = loss.weight(rows.q) * counted
        value = float((f * weight).sum())
        pull = -u * weight
        push = xp.bincount(sums.packing.sequence, pull[sums.packing.token], len(sums.log_z))
        factor, outside = 1.0, sums.d_log_sums(pull[:, None] * rows.q)
        inside = sums.d_log_z(push)
    rows = zip((outside[0], *outside[1]), (inside[0], *inside[1]), (scores, *transitions), strict=True)
    d_scores, *d_transitions = ((factor * (one - other)).astype(a.dtype) for one, other, a in rows)
    return ChainResult(value, d_scores, Transitions(*d_transitions))
