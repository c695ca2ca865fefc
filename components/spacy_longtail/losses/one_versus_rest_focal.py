"""One-versus-rest focal loss: one yes or no per tag."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import log_sigmoid
from ..settings import keep_finite, one_of
from .token import Rows, TagLoss, one_gold


@dataclass(frozen=True)
class OneVersusRestFocal(TagLoss):
    """Focal loss of one sigmoid per tag: -(1 - s)^gamma log s for the gold tag, -s^gamma log(1 - s)
    for the others, summed over tags. Tokens with several acceptable tags are left out.

    gamma (float): Focus, no unit, at least 0. 0 is binary cross-entropy.
    terms (str): "both", or "positive" for the gold tag's term alone, as printed. The latter is lowest
        where every logit is high: it is there to reproduce, not to use.
    RETURNS (LossResult): Nats per counted token, and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 5, with the negative term added (docs/methods.md, "One-versus-rest
        focal loss").
    """

    heads: ClassVar[tuple[str, ...]] = ("sigmoid",)
    gamma: float = 2.0
    terms: Literal["both", "positive"] = "both"

    def __post_init__(self) -> None:
        one_of("terms", self.terms, ("both", "positive"))
        fix = "Use 0 for binary cross-entropy, 2 as a start."
        keep_finite(self, "gamma", "a finite number of at least 0", fix, 0.0)

    def counted(self, gold: Floats2d) -> Floats1d:
        return one_gold(gold)

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        xp, g = get_array_module(logits), self.gamma
        log_s, log_r = log_sigmoid(logits), log_sigmoid(-logits)  # of s and of 1 - s
        s, r = xp.exp(log_s), xp.exp(log_r)
        hard_r, hard_s = xp.exp(g * log_r), xp.exp(g * log_s)  # (1 - s)^gamma, s^gamma
        positive = (gold > 0).astype(logits.dtype)
        negative = 1 - positive if self.terms == "both" else xp.zeros_like(positive)
        f = -positive * hard_r * log_s - negative * hard_s * log_r
        d_rows = positive * hard_r * (g * s * log_s - r) + negative * hard_s * (s - g * r * log_r)
        return Rows(f.sum(axis=1), d_rows, (gold[:, 0] > 0).astype(logits.dtype))
