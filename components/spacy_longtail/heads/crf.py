"""The CRF head: a linear chain of tags with learnt transitions, and the losses on it."""

from typing import NamedTuple

from thinc.api import Model, get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions, path_score, viterbi
from ..chains.sums import PathSums, tag_marginals
from ..chains.tags import ILLEGAL
from ..layers.transitions import Lattice, with_transitions
from ..losses import GoldLoss
from ..types import TwoTaskState
from .base import Gold, Trained
from .tags import TagHead


class ChainResult(NamedTuple):
    """Loss of a batch, with its gradient."""

    loss: float  # summed over tokens; infinite if the gold path of a sequence is not legal
    d_scores: Floats2d  # (n_tokens, n_tags)
    d_transitions: Transitions


def likelihood_loss(
    scores: Floats2d, tags: Ints1d, mask: Floats1d, lengths: Ints1d, transitions: Transitions
) -> ChainResult:
    """Return the negative log-likelihood of the gold paths, and its gradient.

    scores (Floats2d): Emissions, shape (n_tokens, n_tags), the sequences one after another.
    tags (Ints1d): Column of the gold tag, shape (n_tokens,).
    mask (Floats1d): 0.0 for tokens without annotation, whose tag may be any; shape (n_tokens,).
    lengths (Ints1d): Tokens per sequence, shape (n_sequences,).
    transitions (Transitions): Scores of starts, pairs and ends; -inf for illegal ones.
    RETURNS (ChainResult): The loss in nats.
    SOURCE: Lafferty et al. 2001 (docs/methods.md, "Conditional random field").
    """
    xp = get_array_module(scores)
    sums = PathSums(scores, lengths, transitions)
    if bool((mask > 0).all()):
        gold_score, gold = path_score(scores, tags, lengths, transitions)
    else:
        is_gold = xp.arange(scores.shape[1]) == tags[:, None]
        masked = xp.where(is_gold | (mask == 0)[:, None], scores, ILLEGAL)
        paths = PathSums(masked, lengths, transitions)
        gold_score, gold = float(paths.log_z.sum()), paths.d_log_z()
    return _difference(float(sums.log_z.sum()) - gold_score, sums.d_log_z(), gold, scores, transitions)


def marginal_loss(
    formula: GoldLoss,
    scores: Floats2d,
    tags: Ints1d,
    weights: Floats1d,
    lengths: Ints1d,
    transitions: Transitions,
) -> ChainResult:
    """Return a loss of the gold tags' marginal probabilities, and its exact gradient.

    formula (GoldLoss): A function of p(gold), of which the marginal takes the place.
    weights (Floats1d): Weight of each token, 0 without annotation, shape (n_tokens,).
    RETURNS (ChainResult): The loss in the formula's unit. The other arguments are those of
        `likelihood_loss`.
    SOURCE: Ours (docs/methods.md, "Conditional random field").
    """
    xp = get_array_module(scores)
    sums = PathSums(scores, lengths, transitions)
    at = xp.arange(len(tags)), tags
    log_x = xp.where(weights > 0, xp.minimum(sums.log_marginals[at], 0.0), 0.0)
    f, u = formula.of_gold(log_x)
    slope = -u * weights  # of the loss in each log marginal: log sum of paths minus log z
    d_sums = xp.zeros(scores.shape)
    d_sums[at] = slope
    d_log_z = xp.bincount(sums.packing.sequence, slope[sums.packing.token], len(sums.log_z))
    gradients = sums.d_log_sums(d_sums), sums.d_log_z(d_log_z)
    return _difference(float((f * weights).sum()), *gradients, scores, transitions)


def _difference(
    loss: float,
    one: tuple[Floats2d, Transitions],
    other: tuple[Floats2d, Transitions],
    scores: Floats2d,
    transitions: Transitions,
) -> ChainResult:
    """Return the loss with the difference of two gradients, in the precision of the scores."""
    parts = zip((one[0], *one[1]), (other[0], *other[1]), (scores, *transitions), strict=True)
    d_scores, *d_transitions = ((a - b).astype(like.dtype) for a, b, like in parts)
    return ChainResult(loss, d_scores, Transitions(*d_transitions))


class CRFHead(TagHead[Lattice]):
    """A linear chain with learnt transitions. Illegal ones are masked, also in training."""

    name = "crf"
    kinds = (GoldLoss,)
    needs = "a loss of p(gold)"
    can_mask = True
    formula: GoldLoss

    @staticmethod
    def attach(model: Model) -> Model:
        return with_transitions(model)

    def train(self, scores: Lattice, gold: Gold, state: TwoTaskState) -> Trained[Lattice]:
        logits, lengths = self._allowed(scores, gold), gold.lengths
        xp, transitions = get_array_module(logits), self._transitions(logits, scores)
        tags, mask = xp.asarray(gold.tags), xp.asarray(gold.mask)
        if not gold.mask.any():
            zeros = Transitions(*map(xp.zeros_like, transitions))
            result = ChainResult(0.0, xp.zeros_like(logits), zeros)
        elif self.loss.is_likelihood:
            result = likelihood_loss(logits, tags, mask, lengths, transitions)
        else:
            weights = xp.asarray(self.token_weights(gold))
            result = marginal_loss(self.formula, logits, tags, weights, lengths, transitions)
        d_scores = Lattice(Ragged(result.d_scores, scores.logits.lengths), result.d_transitions)
        return Trained(result.loss, d_scores, state)

    def _transitions(self, logits: Floats2d, scores: Lattice) -> Transitions:
        return scores.transitions.plus(self._legal(logits))

    def _best(self, logits: Floats2d, lengths: Ints1d, scores: Lattice) -> Ints1d:
        return viterbi(logits, lengths, self._transitions(logits, scores))

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Lattice) -> Floats2d:
        return tag_marginals(logits, lengths, self._transitions(logits, scores))
