"""The compositional AUC loss of two tasks (COMAUC-2T)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..errors import Errors
from ..types import LossResult, TwoTaskState
from .auc_margin import AUCMargin
from .cross_entropy import CrossEntropy
from .two_task import TwoTaskLoss


@dataclass(frozen=True)
class CompositionalAUC(TwoTaskLoss):
    """Alternate between cross-entropy over all tags, on a third head, and the AUC margin loss.

    Even training updates take the cross-entropy, odd ones the AUC margin; its running a, b and alpha
    move on the latter only. The third head shapes the encoder and is not used in prediction.

    auc (Optional[AUCMargin]): The AUC margin loss; null is longtail.AUCMargin.v1 with its defaults.
    RETURNS (Tuple[LossResult, TwoTaskState]): The loss of the update's kind, its exact gradient, and
        the next state.
    SOURCE: Nguyen et al. 2023, COMAUC-2T (docs/methods.md, "Two-task heads").
    """

    tag_head: ClassVar[bool] = True
    auc: Any = None

    def __post_init__(self) -> None:
        auc = AUCMargin() if self.auc is None else self.auc
        if not isinstance(auc, AUCMargin):
            fix = "Use longtail.AUCMargin.v1 as auc."
            who, reason = "longtail.CompositionalAUC.v1", "it is not an AUC margin loss"
            raise ValueError(Errors.L002.format(who=who, loss=auc, reason=reason, fix=fix))
        object.__setattr__(self, "auc", auc)

    @property
    def activation(self) -> str:
        return self.auc.activation

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        """scores, targets (Floats2d): (n_tokens, 2 + n_tags), entity, begin, and all tags.
        mask (Floats1d): (n_tokens,)."""
        if state.n_updates % 2:
            result, state = self.auc(scores[:, :2], targets[:, :2], mask, state)
            columns = slice(0, 2)
        else:
            result = CrossEntropy()(scores[:, 2:], targets[:, 2:], mask)
            columns = slice(2, None)
        d_scores = get_array_module(scores).zeros_like(scores)
        d_scores[:, columns] = result.d_logits
        return LossResult(result.loss, d_scores), state
