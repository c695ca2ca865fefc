"""The CRF head."""

from thinc.api import Model, get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions, viterbi
from ..chains.sums import PathSums
from ..layers import Lattice, with_transitions
from ..losses import Distillation
from ..losses.chain import chain_loss, taught_chain_loss
from ..losses.token import TagLoss
from ..types import TwoTaskState
from .base import Decoded, Gold, TagHead, Trained


class CRFHead(TagHead):
    """A linear chain with learnt transitions; illegal ones are shut in training and prediction."""

    name = "crf"
    can_shut = True

    @staticmethod
    def attach(model: Model) -> Model:
        return with_transitions(model)

    @staticmethod
    def scaled(d_scores: Lattice, factor: float) -> Lattice:
        transitions = Transitions(*(t * factor for t in d_scores.transitions))
        return Lattice(TagHead.scaled(d_scores.logits, factor), transitions)

    @staticmethod
    def logits(scores: Lattice) -> Ragged:
        return scores.logits

    def is_finite(self, d_scores: Lattice) -> bool:
        xp = get_array_module(d_scores.logits.dataXd)
        return super().is_finite(d_scores) and all(
            bool(xp.isfinite(t).all()) for t in d_scores.transitions
        )

    def _legal(self, scores: Lattice) -> Transitions:
        return scores.transitions.plus(self._legality(get_array_module(scores.logits.dataXd)))

    def train(self, scores: Lattice, gold: Gold, loss: TagLoss, state: TwoTaskState) -> Trained:
        logits = self._allowed(scores.logits.dataXd, gold)
        xp = get_array_module(logits)
        rows, mask = xp.asarray(self.codec.rows(gold.tags)), xp.asarray(gold.mask)
        own = logits, rows, mask, gold.lengths, self._legal(scores)
        if isinstance(loss, Distillation) and gold.soft is not None:
            result = taught_chain_loss(loss, *own, gold.soft)
        else:
            result = chain_loss(loss, *own)
        d_logits = Ragged(result.d_scores, scores.logits.lengths)
        return Trained(result.loss, Lattice(d_logits, result.d_transitions), state)

    def decode(
        self, scores: Lattice, lengths: Ints1d, outside: Floats1d, score: bool, state: TwoTaskState
    ) -> Decoded:
        logits = self._shut(scores.logits.dataXd, outside)
        xp, transitions = get_array_module(logits), self._legal(scores)
        columns = viterbi(logits, lengths, transitions)
        p = xp.ones(len(columns))
        if score:
            log_mu = PathSums(logits, lengths, transitions).log_marginals
            p = xp.exp(log_mu[xp.arange(len(columns)), columns])
        return Decoded(to_numpy(columns), to_numpy(p))

    def marginals(
        self, scores: Lattice, lengths: Ints1d, outside: Floats1d, state: TwoTaskState
    ) -> Floats2d:
        logits = self._shut(scores.logits.dataXd, outside)
        log_mu = PathSums(logits, lengths, self._legal(scores)).log_marginals
        return to_numpy(get_array_module(logits).exp(log_mu))
