"""Logit-adjusted cross-entropy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..settings import keep_finite, one_of
from ..types import ClassPreset
from .gold import OfGold
from .token import Rows


@dataclass(frozen=True)
class TagShares:
    """The share of each tag among the training tokens; an unseen tag has the smallest seen share."""

    unit: ClassVar[str] = "tag"
    needs_counts: ClassVar[bool] = True

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Training tokens per tag. RETURNS (dict): Share per tag."""
        total = max(sum(counts.values()), 1)
        least = min((n for n in counts.values() if n), default=1)
        return {c: (n or least) / total for c, n in counts.items()}

    def default(self, resolved: Mapping[str, float]) -> float:
        return min(resolved.values())


@dataclass(frozen=True)
class LogitAdjusted(OfGold):
    """Cross-entropy on logits moved by the tags' training shares, so that rare tags need a lead.

    Training: cross-entropy on z + tau log share, prediction on z; tau 1 is the balanced softmax.
    Prediction: plain cross-entropy, prediction on z - tau log share; tau can then be changed in a
    trained pipeline: spacy.load(path, config={"components.ner.loss.tau": 0.5}).

    tau (float): Strength, no unit, at least 0. 0 is cross-entropy.
    apply (str): "training" or "prediction" (post hoc).
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    RAISES (ValueError): L001.
    SOURCE: Menon et al. 2021, arXiv:2007.07314, eq. 9 and 10.
    """

    heads: ClassVar[tuple[str, ...]] = ("softmax", "crf")
    tau: float = 1.0
    apply: Literal["training", "prediction"] = "training"

    def __post_init__(self) -> None:
        one_of("apply", self.apply, ("training", "prediction"))
        keep_finite(self, "tau", "a finite number of at least 0", "0 is cross-entropy.", 0.0)

    @property
    def preset(self) -> ClassPreset | None:
        return TagShares()

    @property
    def log_likelihood(self) -> bool:
        return True

    def _offset(self) -> Floats1d:
        shares = self.bound()
        return self.tau * get_array_module(shares).log(shares)

    def training_offset(self) -> Floats1d | None:
        return self._offset() if self.apply == "training" else None

    def prediction_offset(self) -> Floats1d | None:
        return -self._offset() if self.apply == "prediction" else None

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        return -log_x, 1 + 0.0 * log_x

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        offset = self.training_offset()
        if offset is not None:
            logits = logits + get_array_module(logits).asarray(offset, dtype=logits.dtype)
        return super().rows(logits, gold)
