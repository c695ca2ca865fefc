"""Heads with an output per tag, decoded over legal tag sequences."""

from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import best_legal
from ..losses import Distillation, OneVersusRestFocal
from ..losses.token import TagLoss
from ..numerics import logsumexp, sigmoid
from ..types import TwoTaskState
from .base import UNLIKELY, Decoded, Gold, TagHead, Trained


class SoftmaxHead(TagHead):
    """One softmax per token, decoded over legal tag sequences."""

    name = "softmax"
    can_shut = True

    def train(self, scores: Ragged, gold: Gold, loss: TagLoss, state: TwoTaskState) -> Trained:
        xp = get_array_module(scores.dataXd)
        rows, mask = xp.asarray(self.codec.rows(gold.tags)), xp.asarray(gold.mask)
        own = self._allowed(scores.dataXd, gold), rows, mask, gold.lengths
        if isinstance(loss, Distillation) and gold.soft is not None:
            result = loss.with_teacher(*own, gold.soft)
        else:
            result = loss(*own)
        return Trained(result.loss, Ragged(result.d_logits, scores.lengths), state)

    def decode(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, score: bool, state: TwoTaskState
    ) -> Decoded:
        logits = self._shut(scores.dataXd, outside)
        xp = get_array_module(logits)
        columns = best_legal(logits, lengths, self._legality(xp))
        p = self._probability(logits, columns) if score else xp.ones(len(columns))
        return Decoded(to_numpy(columns), to_numpy(p))

    def marginals(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, state: TwoTaskState
    ) -> Floats2d:
        return to_numpy(self._probabilities(self._shut(scores.dataXd, outside)))

    def _probabilities(self, logits: Floats2d) -> Floats2d:
        return get_array_module(logits).exp(logits - logsumexp(logits))

    def _probability(self, logits: Floats2d, columns: Ints1d) -> Floats1d:
        xp = get_array_module(logits)
        return xp.exp(logits[xp.arange(len(columns)), columns] - logsumexp(logits)[:, 0])


class SigmoidHead(SoftmaxHead):
    """One sigmoid per tag: the most probable legal sequence is that of the highest logits."""

    name = "sigmoid"
    can_shut = False
    default_loss = OneVersusRestFocal
    unlearnt = UNLIKELY  # 0 would be a probability of 0.5

    def _probabilities(self, logits: Floats2d) -> Floats2d:
        return sigmoid(logits)

    def _probability(self, logits: Floats2d, columns: Ints1d) -> Floats1d:
        xp = get_array_module(logits)
        return sigmoid(logits[xp.arange(len(columns)), columns])
