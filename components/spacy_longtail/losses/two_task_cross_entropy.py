"""Two-task cross-entropy (CE-2T)."""

import sys
from dataclasses import dataclass
from typing import ClassVar

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import binary_cross_entropy
from ..settings import keep_finite
from ..types import LossResult, TwoTaskState
from .binary import masked_mean
from .two_task import TwoTaskLoss, pair


@dataclass(frozen=True)
class TwoTaskCrossEntropy(TwoTaskLoss):
    """Binary cross-entropy of an entity head plus that of a begin head: the baseline of AUC-2T.

    begin_weight (float): Weight of the begin head, no unit, above 0.
    RETURNS (Tuple[LossResult, TwoTaskState]): Nats per unmasked token, the exact gradient, and the
        state, unchanged.
    SOURCE: Nguyen et al. 2023, CE-2T; the weight is ours (docs/methods.md, "Two-task heads").
    """

    activation: ClassVar[str] = "sigmoid"
    begin_weight: float = 1.0

    def __post_init__(self) -> None:
        rule = "a finite number above 0"
        keep_finite(self, "begin_weight", rule, "Use 1.", sys.float_info.min)

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]:
        """scores, targets (Floats2d): (n_tokens, 2), entity and begin. mask (Floats1d): (n_tokens,)."""
        mask = get_array_module(scores).asarray(mask, dtype=scores.dtype)
        rows = (binary_cross_entropy(scores[:, i], targets[:, i]) for i in (0, 1))
        entity, begin = (masked_mean(own, mask) for own in rows)
        return pair(entity, begin, self.begin_weight, scores.shape[1]), state
