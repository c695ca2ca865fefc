"""Focal loss."""

from dataclasses import dataclass

from thinc.api import get_array_module
from thinc.types import Floats1d

from ..settings import keep_finite
from ..types import ClassWeights
from .gold import OfGold
from .weights import check_weights


@dataclass(frozen=True)
class Focal(OfGold):
    """Focal loss: -w (1 - x)^gamma log x, which down-weights what the model already gets right.

    gamma (float): Focus, no unit, at least 0. 0 is cross-entropy.
    weights (Optional[ClassWeights]): A class-weight preset; null weighs every class 1.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: Lin et al. 2017, arXiv:1708.02002, eq. 4.
    """

    gamma: float = 2.0
    weights: ClassWeights | None = None

    def __post_init__(self) -> None:
        check_weights(self.weights)
        fix = "Use 0 for cross-entropy, 2 as a start."
        keep_finite(self, "gamma", "a finite number of at least 0", fix, 0.0)

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        xp = get_array_module(log_x)
        hard = -xp.expm1(log_x)  # 1 - x
        # t = -log x / (1 - x), 1 in the limit: no negative power, finite for every gamma >= 0
        t = xp.where(hard > 0, -log_x / xp.where(hard > 0, hard, 1.0), 1.0)
        focus = weight * hard**self.gamma
        return -focus * log_x, focus * (1 + self.gamma * xp.exp(log_x) * t)
