"""The AUC margin loss of two binary heads (AUC-2T)."""

import sys
from dataclasses import dataclass
from typing import Literal

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..errors import Errors
from ..numerics import sigmoid
from ..settings import keep_finite, one_of
from ..types import LossResult, TwoTaskState
from .base import BinaryResult
from .two_task import TwoTaskLoss, pair

DUAL_LR = 0.1


@dataclass(frozen=True)
class AUCMargin(TwoTaskLoss):
    """Push the scores of positive tokens above those of negative ones by a margin, for an entity head
    and a begin head: a squared surrogate of the area under the ROC curve.

    stateless: Var+ + Var- + max(0, margin - mean+ + mean-)^2 of the batch. running: the class means a, b
    and the dual variable alpha are carried from batch to batch, for batches with few positives.
    A head without positives or without negatives in the batch is not updated.

    form (str): "stateless" or "running".
    activation (str): "sigmoid" scores tokens by sigmoid(z), "none" by z itself.
    margin (float): Least distance of the class means, in units of the score, above 0.
    begin_weight (float): Weight of the begin head, no unit, above 0.
    dual_lr (float): Step of a, b and alpha, no unit, above 0 and at most 0.5: for the running form, and
        for the threshold of raw scores.
    RETURNS (Tuple[LossResult, TwoTaskState]): The loss, no unit, the exact gradient, the next state.
    SOURCE: Nguyen et al. 2023, eq. 3 and Algorithm 1, with eq. 3c fixed (docs/methods.md, "Two-task
        heads"); Yuan et al. 2021.
    """

    form: Literal["stateless", "running"] = "stateless"
    activation: Literal["sigmoid", "none"] = "sigmoid"
    margin: float = 1.0
    begin_weight: float = 100.0
    dual_lr: float = DUAL_LR

    def __post_init__(self) -> None:
        one_of("form", self.form, ("stateless", "running"))
        one_of("activation", self.activation, ("sigmoid", "none"))
        for name, fix in (("margin", "Use 1."), ("begin_weight", "Use 100.")):
            rule = "a finite number above 0"
            keep_finite(self, name, rule, fix, sys.float_info.min)
        rule, fix = "above 0 and at most 0.5, beyond which a and b would swing", "Use 0.1."
        keep_finite(self, "dual_lr", rule, fix, sys.float_info.min, 0.5)
        if self.dual_lr != DUAL_LR and self.form == "stateless" and self.activation == "sigmoid":
            rule, fix = "left alone: form 'stateless' with 'sigmoid' has no use for it", "Remove it."
            raise ValueError(Errors.L001.format(name="dual_lr", rule=rule, value=self.dual_lr, fix=fix))

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        """scores, targets (Floats2d): (n_tokens, 2), entity and begin. mask (Floats1d): (n_tokens,)."""
        mask = get_array_module(scores).asarray(mask, dtype=scores.dtype)
        results, duals = [], []
        for i in (0, 1):
            dual = (state.a[i], state.b[i], state.alpha[i])
            result, dual = self._head(scores[:, i], targets[:, i], mask, dual)
            results.append(result)
            duals.append(dual)
        a, b, alpha = zip(*duals, strict=True)
        state = state._replace(a=a, b=b, alpha=alpha)
        return pair(results[0], results[1], self.begin_weight, scores.shape[1]), state

    def _head(
        self, z: Floats1d, target: Floats1d, mask: Floats1d, dual: tuple[float, float, float]
    ) -> tuple[BinaryResult, tuple[float, float, float]]:
        """Loss and gradient of one head, and its next a, b, alpha."""
        xp = get_array_module(z)
        positive = mask * (target > 0)
        negative = mask - positive
        n_pos, n_neg = float(positive.sum()), float(negative.sum())
        if not n_pos or not n_neg:
            return BinaryResult(0.0, xp.zeros_like(z)), dual
        h, slope = z, xp.ones_like(z)
        if self.activation == "sigmoid":
            h = sigmoid(z)
            slope = h * sigmoid(-z)
        mean_pos = float((positive * h).sum()) / n_pos
        mean_neg = float((negative * h).sum()) / n_neg
        a, b, alpha = dual
        if self.form == "stateless":
            a, b = mean_pos, mean_neg
            alpha = max(0.0, self.margin - a + b)
        loss = float((positive * (h - a) ** 2).sum()) / n_pos
        loss += float((negative * (h - b) ** 2).sum()) / n_neg
        loss += 2 * alpha * (self.margin + mean_neg - mean_pos) - alpha**2
        d_h = 2 / n_pos * positive * (h - a - alpha) + 2 / n_neg * negative * (h - b + alpha)
        return BinaryResult(loss, d_h * slope), self._next(dual, mean_pos, mean_neg)

    def _next(
        self, dual: tuple[float, float, float], mean_pos: float, mean_neg: float
    ) -> tuple[float, float, float]:
        """a and b follow the class means (the threshold of raw scores lies between them); with the new
        ones alpha climbs."""
        a, b, alpha = dual
        a += 2 * self.dual_lr * (mean_pos - a)
        b += 2 * self.dual_lr * (mean_neg - b)
        climb = 2 * (self.margin + b - a) - 2 * alpha
        return a, b, max(0.0, alpha + self.dual_lr * climb)
