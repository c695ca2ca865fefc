"""Losses of p(gold) on a linear chain (CRF): the likelihood of the path, or a loss of each marginal."""

from collections.abc import Sequence
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

Part = tuple[float, tuple[Floats2d, Transitions]]  # a factor, and gradients


class ChainResult(NamedTuple):
    loss: float  # mean over annotated tokens
    d_scores: Floats2d  # (n_tokens, n_tags)
    d_transitions: Transitions


def chain_loss(
    loss: TagLoss | Distillation,
    scores: Floats2d,
    gold: Floats2d,
    mask: Floats1d,
    lengths: Ints1d,
    transitions: Transitions,
    soft: SoftTargets | None = None,
) -> ChainResult:
    """A loss on a CRF, with its exact gradient.

    Plain cross-entropy is the negative log-likelihood of the gold path; any other f(x) is the mean of
    f over the marginal probabilities of the gold tags, differentiated through forward-backward.

    loss (Loss): A loss of p(gold), with "crf" in `heads`.
    scores (Floats2d): (n_tokens, n_tags), emissions, the sequences one after another.
    gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag.
    mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation: every tag is acceptable there.
    lengths (Ints1d): (n_sequences,), tokens per sequence.
    transitions (Transitions): Their scores, -inf where illegal.
    soft (Optional[SoftTargets]): What a teacher made of the tokens, for a loss that reads it.
    RETURNS (ChainResult): Nats per token that is annotated or has a teacher, with cross-entropy;
        infinite where a sequence's acceptable tags are not a legal path.
    SOURCE: Lafferty et al. 2001; the loss on marginals is ours (docs/methods.md, "Conditional random
        field").
    """
    if isinstance(loss, Distillation):
        if soft is not None:
            return _taught(loss, scores, gold, mask, lengths, transitions, soft)
        loss = loss.inner
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
        parts = [(1 / n_tokens, sums.d_log_z()), (-1 / n_tokens, inside)]
    else:
        rows = gold_rows(sums.log_marginals, allowed)
        (f, u), counted = loss.of_gold(rows.log_x), mask.astype("float64") / n_tokens
        weight = loss.weight(rows.q) * counted
        value = float((f * weight).sum())
        pull = -u * weight
        push = xp.bincount(sums.packing.sequence, pull[sums.packing.token], len(sums.log_z))
        parts = [(1.0, sums.d_log_sums(pull[:, None] * rows.q)), (-1.0, sums.d_log_z(push))]
    return _summed(value, parts, scores, transitions)


def _summed(
    value: float, parts: Sequence[Part], scores: Floats2d, transitions: Transitions
) -> ChainResult:
    """The sum of factors times gradients, in the types of scores and transitions."""
    rows = ((k * d, *(k * t for t in d_transitions)) for k, (d, d_transitions) in parts)
    of = (scores, *transitions)
    d_scores, *d = (sum(own).astype(a.dtype) for own, a in zip(zip(*rows, strict=True), of, strict=True))
    return ChainResult(value, d_scores, Transitions(*d))


def _taught(
    loss: Distillation,
    scores: Floats2d,
    gold: Floats2d,
    mask: Floats1d,
    lengths: Ints1d,
    transitions: Transitions,
    soft: SoftTargets,
) -> ChainResult:
    """The base loss of the sentences without a teacher, (1 - share) times that of the others, and the
    soft term on the marginals of their tokens. Arguments and result as `chain_loss`.
    """
    xp = get_array_module(scores)
    known = to_numpy(soft.known)
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    is_taught = np.bincount(sentence, weights=known, minlength=len(lengths)) > 0
    n_trained = max(float(np.maximum(to_numpy(mask), known).sum()), 1.0)
    sums = PathSums(scores, lengths, transitions)
    rows = loss.soft_rows(sums.log_marginals, soft)
    value = loss.share / n_trained * float(rows.f.sum())
    # log z takes no part: the gradient on the log marginals of a token sums to 0
    parts = [(loss.share / n_trained, sums.d_log_sums(rows.d_rows))]
    for chosen, factor in ((~is_taught, 1.0), (is_taught, 1.0 - loss.share)):
        of_chosen = xp.asarray(chosen[sentence])
        own = scores[of_chosen], gold[of_chosen], mask[of_chosen], lengths[chosen]
        weight = factor * float(own[2].sum()) / n_trained
        if not weight:
            continue
        part = chain_loss(loss.inner, *own, transitions)
        value += weight * part.loss
        d_scores = xp.zeros(scores.shape, dtype="float64")
        d_scores[of_chosen] = part.d_scores
        parts.append((weight, (d_scores, part.d_transitions)))
    return _summed(value, parts, scores, transitions)
