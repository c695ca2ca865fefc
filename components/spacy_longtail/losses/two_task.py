"""Losses of an entity output and a begin output per token: AUC margin, compositional AUC, CE."""

from typing import ClassVar, Literal, NamedTuple

from pydantic import PositiveFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, FloatsXd

from ..numerics import Rows, binary_cross_entropy, sigmoid
from ..settings import CHECKED
from ..types import TwoTaskState
from .base import TwoTaskGold, TwoTaskLoss, TwoTaskResult
from .token import CrossEntropy

DUAL_RATE = 0.1  # step of the running means and of alpha


class Mean(NamedTuple):
    """Mean loss of one output over a batch, with its gradient."""

    loss: float
    d_logits: FloatsXd  # (n_tokens,) or (n_tokens, n_tags)


class Dual(NamedTuple):
    """Running means of one output and the dual variable of its margin, as in `TwoTaskState`."""

    a: float  # mean score of the positives
    b: float  # mean score of the negatives
    alpha: float


def take_mean(rows: Rows, mask: Floats1d) -> Mean:
    """Return the mean loss of the annotated tokens and its gradient, 0 if there is none.

    mask (Floats1d): 0.0 or 1.0, shape (n_tokens,).
    """
    xp = get_array_module(rows.f)
    mask = xp.asarray(mask, dtype=rows.f.dtype)
    f, d_rows = rows.times(mask / xp.maximum(mask.sum(), 1.0))
    return Mean(float(f.sum()), d_rows)


def _add(entity: Mean, begin: Mean, begin_weight: float, state: TwoTaskState) -> TwoTaskResult:
    xp = get_array_module(entity.d_logits)
    d_scores = xp.stack([entity.d_logits, begin_weight * begin.d_logits], axis=1)
    return TwoTaskResult(entity.loss + begin_weight * begin.loss, d_scores, state)


@dataclass(frozen=True, config=CHECKED)
class TwoTaskCrossEntropy(TwoTaskLoss):
    """Mean binary cross-entropy of the entity output plus that of the begin output.

    The baseline that the AUC losses are compared with.

    begin_weight (float): Weight of the begin output, no unit, above 0.
    RETURNS (Loss): The loss of a batch, in nats per annotated token.
    SOURCE: Nguyen et al. 2023, CE-2T; the weight is ours (docs/methods.md, "Two-task heads").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.TwoTaskCrossEntropy.v1", "begin_weight": 2.0}
        >>> ner = nlp.add_pipe("longtail_token_ner", config={"head": "two_task", "loss": loss})
        >>> ner.loss
        TwoTaskCrossEntropy(begin_weight=2.0)
    """

    begin_weight: PositiveFloat = 1.0

    def __call__(
        self, scores: Floats2d, gold: TwoTaskGold, mask: Floats1d, state: TwoTaskState
    ) -> TwoTaskResult:
        entity, begin = (take_mean(binary_cross_entropy(scores[:, i], gold[i]), mask) for i in range(2))
        return _add(entity, begin, self.begin_weight, state)


@dataclass(frozen=True, config=CHECKED)
class AUCMargin(TwoTaskLoss):
    """Push the scores of positive tokens above those of negative ones by a margin.

    A squared surrogate of the area under the ROC curve, for each of the two outputs; the score is
    the sigmoid of the logit. An output without positives or without negatives in the batch is not
    updated.

    form (str): "stateless" takes Var+ + Var- + max(0, margin - mean+ + mean-)^2 of the batch.
        "running" carries the class means and the dual variable of the margin from batch to batch,
        for batches with few positives.
    margin (float): Minimum distance of the class means, in units of the score, above 0.
    begin_weight (float): Weight of the begin output, no unit, above 0.
    RETURNS (Loss): The loss of a batch, no unit.
    SOURCE: Nguyen et al. 2023, eq. 3 and Algorithm 1, with eq. 3c corrected (docs/methods.md,
        "Two-task heads"); Yuan et al. 2021.
    EXAMPLE:
        >>> loss = {"@losses": "longtail.AUCMargin.v1", "form": "running"}
        >>> ner = nlp.add_pipe("longtail_token_ner", config={"head": "two_task", "loss": loss})
        >>> ner.loss
        AUCMargin(form='running', margin=1.0, begin_weight=100.0)
    """

    form: Literal["stateless", "running"] = "stateless"
    margin: PositiveFloat = 1.0
    begin_weight: PositiveFloat = 100.0

    def __call__(
        self, scores: Floats2d, gold: TwoTaskGold, mask: Floats1d, state: TwoTaskState
    ) -> TwoTaskResult:
        mask = get_array_module(scores).asarray(mask, dtype=scores.dtype)
        duals = map(Dual, state.a, state.b, state.alpha)
        outputs = (self._output(scores[:, i], gold[i], mask, dual) for i, dual in enumerate(duals))
        (entity, of_entity), (begin, of_begin) = outputs
        after = state._replace(
            a=(of_entity.a, of_begin.a),
            b=(of_entity.b, of_begin.b),
            alpha=(of_entity.alpha, of_begin.alpha),
        )
        return _add(entity, begin, self.begin_weight, after)

    def _output(self, z: Floats1d, target: Floats1d, mask: Floats1d, dual: Dual) -> tuple[Mean, Dual]:
        """Return loss and gradient of one output, and its means and dual variable afterwards."""
        xp = get_array_module(z)
        positive = mask * (target > 0)
        negative = mask - positive
        n_pos, n_neg = float(positive.sum()), float(negative.sum())
        if not n_pos or not n_neg:
            return Mean(0.0, xp.zeros_like(z)), dual
        h = sigmoid(z)
        mean_pos = float((positive * h).sum()) / n_pos
        mean_neg = float((negative * h).sum()) / n_neg
        next_a = dual.a + 2 * DUAL_RATE * (mean_pos - dual.a)
        next_b = dual.b + 2 * DUAL_RATE * (mean_neg - dual.b)
        climb = 2 * (self.margin + next_b - next_a) - 2 * dual.alpha
        after = Dual(next_a, next_b, max(0.0, dual.alpha + DUAL_RATE * climb))
        a, b, alpha = dual
        if self.form == "stateless":
            a, b = mean_pos, mean_neg
            alpha = max(0.0, self.margin - a + b)
        loss = float((positive * (h - a) ** 2).sum()) / n_pos
        loss += float((negative * (h - b) ** 2).sum()) / n_neg
        loss += 2 * alpha * (self.margin + mean_neg - mean_pos) - alpha**2
        d_h = 2 / n_pos * positive * (h - a - alpha) + 2 / n_neg * negative * (h - b + alpha)
        return Mean(loss, d_h * (h * sigmoid(-z))), after


@dataclass(frozen=True, config=CHECKED)
class CompositionalAUC(TwoTaskLoss):
    """Alternate between cross-entropy over all tags, on further outputs, and the AUC margin loss.

    Even training updates take the cross-entropy, odd ones the AUC margin loss, whose running means
    move on these only. The outputs of the tags train the encoder and are not used in prediction.

    auc (Optional[AUCMargin]): The AUC margin loss; null is longtail.AUCMargin.v1 with its defaults.
    RETURNS (Loss): The loss of a batch: nats per annotated token, or no unit, in turns.
    SOURCE: Nguyen et al. 2023, COMAUC-2T (docs/methods.md, "Two-task heads").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.CompositionalAUC.v1"}
        >>> ner = nlp.add_pipe("longtail_token_ner", config={"head": "two_task", "loss": loss})
        >>> ner.loss
        CompositionalAUC(auc=None)
    """

    has_tag_head: ClassVar[bool] = True
    auc: AUCMargin | None = None

    def __call__(
        self, scores: Floats2d, gold: TwoTaskGold, mask: Floats1d, state: TwoTaskState
    ) -> TwoTaskResult:
        d_scores = get_array_module(scores).zeros_like(scores)
        if state.n_updates % 2:
            loss, d_scores[:, :2], state = (self.auc or AUCMargin())(scores[:, :2], gold, mask, state)
        else:
            loss, d_scores[:, 2:] = take_mean(CrossEntropy().rows(scores[:, 2:], gold.tags), mask)
        return TwoTaskResult(loss, d_scores, state)
