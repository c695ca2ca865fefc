"""Heads with an output per tag, decoded over legal tag sequences: softmax, sigmoid, CRF."""

from typing import Any

from thinc.api import Model, get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions, best_legal, viterbi
from ..chains.sums import PathSums
from ..chains.tags import ILLEGAL
from ..layers.transitions import Lattice, with_transitions
from ..losses import OneVersusRestFocal
from ..losses.chain import chain_loss
from ..losses.token import TagLoss
from ..numerics import logsumexp, sigmoid
from ..types import TwoTaskState
from .base import UNLIKELY, Decoded, Gold, Head, Scores, Trained


class SoftmaxHead(Head):
    """One softmax per token, decoded over legal tag sequences."""

    name = "softmax"
    can_shut = True

    def train(self, scores: Scores, gold: Gold, loss: TagLoss, state: TwoTaskState) -> Trained:
        ragged = self.logits(scores)
        logits = ragged.dataXd
        xp = get_array_module(logits)
        if gold.allowed is not None:  # what a document cannot have is shut, and gets no gradient
            shut = xp.asarray(ILLEGAL, dtype=logits.dtype)
            logits = xp.where(xp.asarray(gold.allowed) > 0, logits, shut)
        value, d_logits, *d_transitions = self._loss(loss, logits, scores, gold)
        d_scores: Scores = Ragged(d_logits, ragged.lengths)
        return Trained(value, Lattice(d_scores, *d_transitions) if d_transitions else d_scores, state)

    def _rows(self, gold: Gold, logits: Floats2d) -> tuple[Floats2d, Floats1d]:
        """The gold tags, (n_tokens, n_tags), and the mask, on the device of the logits."""
        xp = get_array_module(logits)
        return xp.asarray(self.codec.rows(gold.tags)), xp.asarray(gold.mask)

    def _loss(self, loss: TagLoss, logits: Floats2d, scores: Scores, gold: Gold) -> tuple:
        """The loss and its gradient on all that the model gives. logits (Floats2d): To train on."""
        soft = () if gold.soft is None else (gold.soft,)  # of a loss that reads it
        return loss(logits, *self._rows(gold, logits), *soft)

    def decode(self, scores: Scores, lengths: Ints1d, outside: Floats1d, score: bool) -> Decoded:
        logits = self._shut(scores, outside)
        xp = get_array_module(logits)
        columns, p = self._best(logits, lengths, scores), xp.ones(len(logits))
        if score:
            p = self._bounded(logits, lengths, scores)[xp.arange(len(columns)), columns]
        return Decoded(to_numpy(columns), to_numpy(p))

    def marginals(self, scores: Scores, lengths: Ints1d, outside: Floats1d) -> Floats2d:
        return to_numpy(self._bounded(self._shut(scores, outside), lengths, scores))

    def _bounded(self, logits: Floats2d, lengths: Ints1d, scores: Scores) -> Floats2d:
        p = self._probabilities(logits, lengths, scores)
        return get_array_module(logits).minimum(p, 1.0)  # never above 1 by rounding

    def _shut(self, scores: Scores, outside: Floats1d) -> Floats2d:
        """The logits to decode: every tag but O is shut where nothing may stand."""
        logits: Floats2d = self.logits(scores).dataXd
        if outside.any():
            logits = logits.copy()
            logits[get_array_module(logits).asarray(outside > 0), 1:] = ILLEGAL
        return logits

    def _legal(self, logits: Floats2d) -> Transitions:
        xp = get_array_module(logits)
        return Transitions(*(xp.asarray(t) for t in self.legality))

    def _best(self, logits: Floats2d, lengths: Ints1d, scores: Scores) -> Ints1d:
        return best_legal(logits, lengths, self._legal(logits))

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Scores) -> Floats2d:
        return get_array_module(logits).exp(logits - logsumexp(logits))


class SigmoidHead(SoftmaxHead):
    """One sigmoid per tag: the most probable legal sequence is that of the highest logits."""

    name = "sigmoid"
    can_shut = False
    default_loss = OneVersusRestFocal
    unlearnt = UNLIKELY  # 0 would be a probability of 0.5

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Scores) -> Floats2d:
        return sigmoid(logits)


class CRFHead(SoftmaxHead):
    """A linear chain with learnt transitions; illegal ones are shut in training and prediction."""

    name = "crf"

    @staticmethod
    def attach(model: Model) -> Model:
        return with_transitions(model)

    def _transitions(self, logits: Floats2d, scores: Lattice) -> Transitions:
        return scores.transitions.plus(self._legal(logits))

    def _loss(self, loss: TagLoss, logits: Floats2d, scores: Any, gold: Gold) -> tuple:
        rows, transitions = self._rows(gold, logits), self._transitions(logits, scores)
        return chain_loss(loss, logits, *rows, gold.lengths, transitions)

    def _best(self, logits: Floats2d, lengths: Ints1d, scores: Any) -> Ints1d:
        return viterbi(logits, lengths, self._transitions(logits, scores))

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Any) -> Floats2d:
        sums = PathSums(logits, lengths, self._transitions(logits, scores))
        return get_array_module(logits).exp(sums.log_marginals)
