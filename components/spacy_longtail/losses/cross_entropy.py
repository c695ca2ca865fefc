"""Cross-entropy, plain or weighted by class."""

from dataclasses import dataclass

from thinc.types import Floats1d

from ..types import ClassWeights
from .gold import OfGold
from .weights import check_weights


@dataclass(frozen=True)
class CrossEntropy(OfGold):
    """Cross-entropy: -w log x, x the probability of the gold class (or of all acceptable ones).

    weights (Optional[ClassWeights]): A class-weight preset, such as longtail.inverse_frequency.v1;
        null weighs every class 1.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: docs/methods.md, "Cross-entropy"; with weights, Nemoto et al. 2025 (WCE).
    """

    weights: ClassWeights | None = None

    def __post_init__(self) -> None:
        check_weights(self.weights)

    @property
    def log_likelihood(self) -> bool:
        return self.weights is None

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        return -weight * log_x, weight + 0.0 * log_x
