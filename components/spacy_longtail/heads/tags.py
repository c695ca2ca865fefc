"""Heads with an output per tag and independent tokens: a softmax, or a sigmoid per tag."""

from abc import abstractmethod

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions, best_legal
from ..chains.tags import ILLEGAL
from ..losses import BinaryLoss, Distillation, OneVersusRestFocal, SoftmaxLoss
from ..numerics import Rows, logsumexp, sigmoid
from ..types import TwoTaskState
from .base import UNLIKELY, Decoded, Gold, Head, Output, Trained


class TagHead(Head[Output]):
    """A head with an output per tag, decoded over legal tag sequences."""

    def decode(self, scores: Output, lengths: Ints1d, outside: Floats1d, score: bool) -> Decoded:
        logits = self._masked(scores, outside)
        xp = get_array_module(logits)
        columns, p = self._best(logits, lengths, scores), xp.ones(len(logits))
        lengths = to_numpy(lengths)[to_numpy(lengths) > 0]
        if score and len(columns):
            # only entities have scores, so that sentences without them need no probabilities
            starts = np.cumsum(lengths) - lengths
            is_scored = np.maximum.reduceat(to_numpy(columns), starts) > 0
            tokens = xp.asarray(np.flatnonzero(np.repeat(is_scored, lengths)))
            if len(tokens):
                scored = self._bounded(logits[tokens], lengths[is_scored], scores)
                p[tokens] = scored[xp.arange(len(tokens)), columns[tokens]]
        return Decoded(to_numpy(columns), to_numpy(p))

    def marginals(self, scores: Output, lengths: Ints1d, outside: Floats1d) -> Floats2d:
        return to_numpy(self._bounded(self._masked(scores, outside), lengths, scores))

    def _masked(self, scores: Output, outside: Floats1d) -> Floats2d:
        """Return the logits, all but O masked for tokens that cannot be in an entity."""
        logits: Floats2d = self.logits(scores).dataXd
        if outside.any():
            logits = logits.copy()
            logits[get_array_module(logits).asarray(outside > 0), 1:] = ILLEGAL
        return logits

    def _allowed(self, scores: Output, gold: Gold) -> Floats2d:
        """Return the logits, tags masked that a document cannot have: they get no gradient."""
        logits: Floats2d = self.logits(scores).dataXd
        if gold.allowed is None:
            return logits
        xp = get_array_module(logits)
        masked = xp.asarray(ILLEGAL, dtype=logits.dtype)
        return xp.where(xp.asarray(gold.allowed) > 0, logits, masked)

    def _bounded(self, logits: Floats2d, lengths: Ints1d, scores: Output) -> Floats2d:
        p = self._probabilities(logits, lengths, scores)
        return get_array_module(logits).minimum(p, 1.0)  # never above 1 by rounding

    def _legal(self, logits: Floats2d) -> Transitions:
        xp = get_array_module(logits)
        return Transitions(*(xp.asarray(t) for t in self.legality))

    def _best(self, logits: Floats2d, lengths: Ints1d, scores: Output) -> Ints1d:
        return best_legal(logits, lengths, self._legal(logits))

    @abstractmethod
    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Output) -> Floats2d:
        """Return the probability of each tag of each token, (n_tokens, n_tags)."""


class RowHead(TagHead[Ragged]):
    """A head whose loss is a sum over independent tokens."""

    def train(self, scores: Ragged, gold: Gold, state: TwoTaskState) -> Trained[Ragged]:
        logits = self._allowed(scores, gold)
        xp = get_array_module(logits)
        weights = xp.asarray(self.token_weights(gold), dtype=logits.dtype)
        rows = self._rows(logits, xp.asarray(gold.tags)).times(weights)
        if isinstance(self.formula, Distillation) and gold.soft is not None:
            rows = self.formula.add_teacher(rows, logits, gold.soft)
        d_scores = Ragged(rows.d_rows, scores.lengths)
        return Trained(float(rows.f.sum(dtype="float64")), d_scores, state)

    @abstractmethod
    def _rows(self, logits: Floats2d, tags: Ints1d) -> Rows:
        """Return the loss of each token and its gradient, without weights."""


class SoftmaxHead(RowHead):
    """One softmax per token."""

    name = "softmax"
    kinds = (SoftmaxLoss, Distillation)
    needs = "a loss for a softmax over tags"
    can_mask = True
    formula: SoftmaxLoss | Distillation

    def _rows(self, logits: Floats2d, tags: Ints1d) -> Rows:
        return self.formula.rows(logits, tags)

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Ragged) -> Floats2d:
        return get_array_module(logits).exp(logits - logsumexp(logits))


class SigmoidHead(RowHead):
    """One sigmoid per tag: the most probable legal sequence is that of the highest logits."""

    name = "sigmoid"
    kinds = (BinaryLoss,)
    needs = "a loss of binary outputs"
    default_loss = OneVersusRestFocal
    initial_bias = UNLIKELY  # 0 would be a probability of 0.5
    formula: BinaryLoss

    def _rows(self, logits: Floats2d, tags: Ints1d) -> Rows:
        is_gold = get_array_module(logits).arange(logits.shape[1]) == tags[:, None]
        f, d_rows = self.formula.binary_rows(logits, is_gold.astype(logits.dtype))
        return Rows(f.sum(axis=1), d_rows)

    def _probabilities(self, logits: Floats2d, lengths: Ints1d, scores: Ragged) -> Floats2d:
        return sigmoid(logits)
