"""One-versus-rest focal loss: one yes or no per tag."""

from typing import ClassVar

from pydantic import NonNegativeFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats2d

from ..numerics import Rows, log_sigmoid
from .base import CHECKED
from .token import TagLoss


@dataclass(frozen=True, config=CHECKED)
class OneVersusRestFocal(TagLoss):
    """Focal loss of one sigmoid per tag: -(1 - s)^gamma log s for the gold tag, -s^gamma log(1 - s)
    for the others, summed over tags.

    gamma (float): Focus, no unit, at least 0. 0 is binary cross-entropy.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 5, with the negative term added (docs/methods.md, "One-versus-rest
        focal loss").
    """

    heads: ClassVar[tuple[str, ...]] = ("sigmoid",)
    gamma: NonNegativeFloat = 2.0

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        xp, g = get_array_module(logits), self.gamma
        log_s, log_r = log_sigmoid(logits), log_sigmoid(-logits)  # of s and of 1 - s
        s, r = xp.exp(log_s), xp.exp(log_r)
        hard_r, hard_s = xp.exp(g * log_r), xp.exp(g * log_s)  # (1 - s)^gamma, s^gamma
        positive = (gold > 0).astype(logits.dtype)
        negative = 1 - positive
        f = -positive * hard_r * log_s - negative * hard_s * log_r
        d_rows = positive * hard_r * (g * s * log_s - r) + negative * hard_s * (s - g * r * log_r)
        return Rows(f.sum(axis=1), d_rows)
