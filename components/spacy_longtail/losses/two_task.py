"""Losses on an entity logit and a begin logit per token: AUC, compositional AUC, cross-entropy."""

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import PositiveFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import binary_cross_entropy, sigmoid
from ..types import LossResult, TwoTaskState
from .base import CHECKED, Loss
from .token import CrossEntropy, masked_mean

DUAL_RATE = 0.1  # step of the running means and of alpha


class TwoTaskLoss(Loss):
    """A loss on an entity logit and a begin logit per token.

    SOURCE: docs/methods.md, "Two-task heads".
    """

    heads: ClassVar[tuple[str, ...]] = ("two_task",)
    tag_head: ClassVar[bool] = False  # whether `scores` has a column per tag after the two

    @abstractmethod
    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        """The loss with its gradient, and the next state.

        scores, targets (Floats2d): (n_tokens, 2), entity and begin, or (n_tokens, 2 + n_tags).
        mask (Floats1d): (n_tokens,).
        """


def _pair(entity: LossResult, begin: LossResult, begin_weight: float) -> LossResult:
    xp = get_array_module(entity.d_logits)
    d_scores = xp.stack([entity.d_logits, begin_weight * begin.d_logits], axis=1)
    return LossResult(entity.loss + begin_weight * begin.loss, d_scores)


@dataclass(frozen=True, config=CHECKED)
class TwoTaskCrossEntropy(TwoTaskLoss):
    """Binary cross-entropy of an entity head plus that of a begin head: the baseline of AUC-2T.

    begin_weight (float): Weight of the begin head, no unit, above 0.
    RETURNS (Tuple[LossResult, TwoTaskState]): Nats per unmasked token, exact gradient, same state.
    SOURCE: Nguyen et al. 2023, CE-2T; the weight is ours (docs/methods.md, "Two-task heads").
    """

    begin_weight: PositiveFloat = 1.0

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        rows = (binary_cross_entropy(scores[:, i], targets[:, i]) for i in (0, 1))
        entity, begin = (masked_mean(rows_of_head, mask) for rows_of_head in rows)
        return _pair(entity, begin, self.begin_weight), state


@dataclass(frozen=True, config=CHECKED)
class AUCMargin(TwoTaskLoss):
    """Push the scores of positive tokens above those of negative ones by a margin, in two heads.

    A squared surrogate of the area under the ROC curve; a score is sigmoid(logit). stateless: Var+
    + Var- + max(0, margin - mean+ + mean-)^2 of the batch. running: the class means a, b and the
    dual variable alpha are carried from batch to batch, for batches with few positives. A head
    without positives or without negatives in the batch is not updated.

    form (str): "stateless" or "running".
    margin (float): Least distance of the class means, in units of the score, above 0.
    begin_weight (float): Weight of the begin head, no unit, above 0.
    RETURNS (Tuple[LossResult, TwoTaskState]): The loss, no unit, exact gradient, and next state.
    SOURCE: Nguyen et al. 2023, eq. 3 and Algorithm 1, with eq. 3c fixed (docs/methods.md,
        "Two-task heads"); Yuan et al. 2021.
    """

    form: Literal["stateless", "running"] = "stateless"
    margin: PositiveFloat = 1.0
    begin_weight: PositiveFloat = 100.0

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        mask = get_array_module(scores).asarray(mask, dtype=scores.dtype)
        duals = zip(state.a, state.b, state.alpha, strict=True)
        heads = (self._head(scores[:, i], targets[:, i], mask, dual) for i, dual in enumerate(duals))
        (entity, first), (begin, second) = heads
        a, b, alpha = zip(first, second, strict=True)
        return _pair(entity, begin, self.begin_weight), state._replace(a=a, b=b, alpha=alpha)

    def _head(
        self, z: Floats1d, target: Floats1d, mask: Floats1d, dual: tuple[float, float, float]
    ) -> tuple[LossResult, tuple[float, float, float]]:
        xp = get_array_module(z)
        positive = mask * (target > 0)
        negative = mask - positive
        n_pos, n_neg = float(positive.sum()), float(negative.sum())
        if not n_pos or not n_neg:
            return LossResult(0.0, xp.zeros_like(z)), dual
        h = sigmoid(z)
        mean_pos = float((positive * h).sum()) / n_pos
        mean_neg = float((negative * h).sum()) / n_neg
        a, b, alpha = dual
        next_a, next_b = a + 2 * DUAL_RATE * (mean_pos - a), b + 2 * DUAL_RATE * (mean_neg - b)
        climb = 2 * (self.margin + next_b - next_a) - 2 * alpha
        after = next_a, next_b, max(0.0, alpha + DUAL_RATE * climb)
        if self.form == "stateless":
            a, b = mean_pos, mean_neg
            alpha = max(0.0, self.margin - a + b)
        loss = float((positive * (h - a) ** 2).sum()) / n_pos
        loss += float((negative * (h - b) ** 2).sum()) / n_neg
        loss += 2 * alpha * (self.margin + mean_neg - mean_pos) - alpha**2
        d_h = 2 / n_pos * positive * (h - a - alpha) + 2 / n_neg * negative * (h - b + alpha)
        return LossResult(loss, d_h * (h * sigmoid(-z))), after


@dataclass(frozen=True, config=CHECKED)
class CompositionalAUC(TwoTaskLoss):
    """Alternate between cross-entropy over all tags, on a third head, and the AUC margin loss.

    Even training updates take the cross-entropy, odd ones the AUC margin: its running a, b and
    alpha move on these only. The third head shapes the encoder and is not used in prediction.

    auc (Optional[AUCMargin]): The AUC margin loss; null is longtail.AUCMargin.v1 with its defaults.
    RETURNS (Tuple[LossResult, TwoTaskState]): The update's loss, exact gradient, and next state.
    SOURCE: Nguyen et al. 2023, COMAUC-2T (docs/methods.md, "Two-task heads").
    """

    tag_head: ClassVar[bool] = True
    auc: AUCMargin | None = None

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        columns = slice(2) if state.n_updates % 2 else slice(2, None)
        inputs = scores[:, columns], targets[:, columns], mask
        if state.n_updates % 2:
            result, state = (self.auc or AUCMargin())(*inputs, state)
        else:
            result = CrossEntropy()(*inputs)
        d_scores = get_array_module(scores).zeros_like(scores)
        d_scores[:, columns] = result.d_logits
        return LossResult(result.loss, d_scores), state
