"""Losses of p(gold) on a linear chain (CRF): the likelihood of the path, or a loss of each marginal."""

from typing import NamedTuple

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d

from ..chains.packing import Transitions, path_score
from ..chains.sums import PathSums
from ..chains.tags import ILLEGAL
from ..numerics import gold_rows
from ..types import SoftTargets
from .distillation import Distillation
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

    Plain cross-entropy is the negative log-likelihood of the gold path; any other f(x) is the mean of
    f over the marginal probabilities of the gold tags, differentiated through forward-backward.

    loss (TagLoss): A loss of p(gold), with "crf" in `heads`.
    scores (Floats2d): (n_tokens, n_tags), emissions, the sequences one after another.
    gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag.
    mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation: every tag is acceptable there.
    lengths (Ints1d): (n_sequences,), tokens per sequence.
    transitions (Transitions): Their scores, -inf where illegal.
    RETURNS (ChainResult): Nats per annotated token with cross-entropy; infinite where a sequence's
        acceptable tags are not a legal path.
    SOURCE: Lafferty et al. 2001; the loss on marginals is ours (docs/methods.md, "Conditional random
        field").
    """
    xp = get_array_module(scores)
    n_tokens = float(mask.sum())
    if not n_tokens:
        return ChainResult(0.0, xp.zeros_like(scores), Transitions(*map(xp.zeros_like, transitions)))
    allowed = (gold > 0) | (mask == 0)[:, None]
    sums = PathSums(scores, lengths, transitions)
    if loss.log_likelihood:
        if bool((allowed.sum(axis=1) == 1).all()):
            gold_score, *inside = path_score(scores, allowed.argmax(axis=1), lengths, transitions)
        else:
            paths = PathSums(xp.where(allowed, scores, ILLEGAL), lengths, transitions)
            gold_score, inside = float(paths.log_z.sum()), paths.d_log_z()
        value = (float(sums.log_z.sum()) - gold_score) / n_tokens
        parts = (sums.d_log_z(), 1 / n_tokens), (inside, -1 / n_tokens)
    else:
        rows = gold_rows(sums.log_marginals, allowed)
        f, u = loss.of_gold(rows.log_x, (rows.q[:, 0] > 0.5).astype("float64"), loss.weight(rows.q))
        value = float((f * mask).sum()) / n_tokens
        pull = -(u * mask / n_tokens)
        push = xp.bincount(sums.packing.sequence, pull[sums.packing.token], len(sums.log_z))
        parts = (sums.d_log_sums(pull[:, None] * rows.q), 1.0), (sums.d_log_z(push), -1.0)
    (d_scores, d_transitions), factor = parts[0]
    (d_other, d_other_transitions), other = parts[1]
    pairs = zip(d_transitions, d_other_transitions, transitions, strict=True)
    return ChainResult(
        value,
        (factor * d_scores + other * d_other).astype(scores.dtype),
        Transitions(*((factor * a + other * b).astype(t.dtype) for a, b, t in pairs)),
    )


def taught_chain_loss(
    loss: Distillation,
    scores: Floats2d,
    gold: Floats2d,
    mask: Floats1d,
    lengths: Ints1d,
    transitions: Transitions,
    soft: SoftTargets,
) -> ChainResult:
    """A loss with soft targets on a CRF, with its exact gradient.

    The base loss of the sentences without a teacher, (1 - share) times that of the others, and the soft
    term on the marginals of their tokens. Arguments and result as `chain_loss`.

    soft (SoftTargets): What a teacher made of the tokens.
    RETURNS (ChainResult): Nats per token that is annotated or has a teacher.
    """
    xp = get_array_module(scores)
    known = to_numpy(soft.known)
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    taught = np.bincount(sentence, weights=known, minlength=len(lengths)) > 0
    n_trained = max(float(np.maximum(to_numpy(mask), known).sum()), 1.0)
    value, d_scores = 0.0, xp.zeros_like(scores)
    d_transitions = [xp.zeros_like(t) for t in transitions]
    for chosen, factor in ((~taught, 1.0), (taught, 1.0 - loss.share)):
        rows = xp.asarray(chosen[sentence])
        own = scores[rows], gold[rows], mask[rows], lengths[chosen]
        if not factor or not len(own[0]):
            continue
        part = chain_loss(loss.base, *own, transitions)
        weight = factor * float(own[2].sum()) / n_trained
        value += weight * part.loss
        d_scores[rows] += (weight * part.d_scores).astype(scores.dtype)
        for total, d in zip(d_transitions, part.d_transitions, strict=True):
            total += (weight * d).astype(total.dtype)
    soft_part = _soft_part(loss, scores, lengths, transitions, soft)
    factor = loss.share / n_trained
    for total, d in zip(d_transitions, soft_part.d_transitions, strict=True):
        total += (factor * d).astype(total.dtype)
    d_scores += (factor * soft_part.d_scores).astype(scores.dtype)
    return ChainResult(value + factor * soft_part.loss, d_scores, Transitions(*d_transitions))


def _soft_part(
    loss: Distillation, scores: Floats2d, lengths: Ints1d, transitions: Transitions, soft: SoftTargets
) -> ChainResult:
    """The sum of the soft terms, on log marginals. Their log z takes no part: the gradient on the log
    marginals of a token sums to 0.
    """
    sums = PathSums(scores, lengths, transitions)
    rows = loss.soft_rows(sums.log_marginals, soft)
    d_scores, d_transitions = sums.d_log_sums(rows.d_rows)
    return ChainResult(float(rows.f.sum()), d_scores, d_transitions)
