"""What losses on token logits share; losses of p(gold), cross-entropy and focal loss among them."""

import copy
from abc import abstractmethod
from typing import Any

from pydantic import NonNegativeFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows, binary_cross_entropy, gold_rows
from ..types import ClassWeights, LossResult, SoftTargets
from .base import CHECKED, Loss

GoldTerms = tuple[Floats1d, Floats1d]
GOLD_HEADS = ("softmax", "crf", "transition")


class TagLoss(Loss):
    """A loss on token logits: the mean over annotated tokens of what `rows` gives.

    Subclasses are frozen dataclasses with `rows`, and with what else their `heads` promise.
    """

    class_values: Floats1d | None = None  # (n_tags,), set by `bind`, never a setting

    @property
    def log_likelihood(self) -> bool:
        """Whether the loss is -log p(gold): a CRF then trains on its exact likelihood."""
        return False

    @abstractmethod
    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        """Loss and gradient of each token on its own; arguments as of the call."""

    def of_gold(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> GoldTerms:
        """f and u = -f'(x) x, row by row; x is the probability of the acceptable classes.

        log_x (Floats1d): (n,), log probability of the acceptable classes.
        is_o (Floats1d): (n,), 1.0 where the gold class is O.
        weight (Floats1d | float): (n,), the class weight of each row.
        """
        raise NotImplementedError

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> Rows:
        """Loss and gradient of each yes or no. logits, targets (Floats1d): (n,), 1.0 yes, 0.0 no."""
        raise NotImplementedError

    def weight(self, q: Floats2d) -> Floats1d | float:
        """The class weight of each row: that of the acceptable classes, weighted by q. (n,)"""
        if self.preset is None:
            return 1.0
        if self.class_values is None:
            raise ValueError(f"{self} has no class weights: initialize its pipe, or bind them")
        return q @ get_array_module(q).asarray(self.class_values, dtype=q.dtype)

    def bind(self, class_values: Floats1d) -> Any:
        """The same loss with its preset resolved.

        class_values (Floats1d): (n_tags,), one number per column of the logits.
        RETURNS (TagLoss): A new loss.
        """
        bound = copy.copy(self)
        object.__setattr__(bound, "class_values", class_values)
        return bound

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, soft: SoftTargets | None = None
    ) -> LossResult:
        """Loss and exact gradient on token logits.

        logits (Floats2d): (n_tokens, n_tags), unnormalised, column 0 is O.
        gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag, at least one per row.
        mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation, else 1.0.
        soft (Optional[SoftTargets]): What a teacher made of the tokens, for a loss that reads it.
        RETURNS (LossResult): Nats per unmasked token, and the gradient (n_tokens, n_tags).
        """
        return masked_mean(self.rows(logits, gold), mask)

    def binary(self, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> LossResult:
        """Loss and exact gradient on one logit per token. O is the answer no.

        logits, targets (Floats1d): (n,), unnormalised; 1.0 yes, 0.0 no.
        mask (Floats1d): (n,), 0.0 for what must not count, else 1.0.
        SOURCE: docs/methods.md, "Reading comprehension".
        """
        targets = get_array_module(logits).asarray(targets, dtype=logits.dtype)
        return masked_mean(self.binary_rows(logits, targets), mask)


def masked_mean(rows: Rows, mask: Floats1d) -> LossResult:
    """The mean over unmasked rows, and its gradient. mask (Floats1d): (n,), 0.0 or 1.0."""
    xp = get_array_module(rows.f)
    mask = xp.asarray(mask, dtype=rows.f.dtype)
    scale = mask / xp.maximum(mask.sum(), 1.0)
    d_scale = scale if rows.d_rows.ndim == 1 else scale[:, None]
    return LossResult(float((rows.f * scale).sum()), rows.d_rows * d_scale)


class OfGold(TagLoss):
    """A loss f(x) of x, the probability of the acceptable classes; its gradient is u (p - q).

    One formula serves softmax heads, CRF marginals and `ner`. Subclasses define `of_gold`.
    """

    weights: ClassWeights | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """A yes or no has no class of its own, hence no class weight."""
        return GOLD_HEADS if self.weights is not None else (*GOLD_HEADS, "binary")

    @property
    def preset(self) -> ClassWeights | None:
        return self.weights

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        log_x, d_rows, q = gold_rows(logits, gold)
        is_o = (q[:, 0] > 0.5).astype(logits.dtype)
        f, u = self.of_gold(log_x, is_o, self.weight(q))
        return Rows(f, d_rows * u[:, None])

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> Rows:
        """As of_gold, x the probability of the true answer."""
        cross_entropy, d_rows = binary_cross_entropy(logits, targets)
        f, u = self.of_gold(-cross_entropy, 1 - targets, 1.0)
        return Rows(f, u * d_rows)


@dataclass(frozen=True, config=CHECKED)
class CrossEntropy(OfGold):
    """Cross-entropy: -w log x, x the probability of the gold class (or of all acceptable ones).

    weights (Optional[ClassWeights]): A class-weight preset, such as longtail.inverse_frequency.v1;
        null weighs every class 1.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: docs/methods.md, "Cross-entropy"; with weights, Nemoto et al. 2025 (WCE).
    """

    weights: ClassWeights | None = None

    @property
    def log_likelihood(self) -> bool:
        return self.weights is None

    def of_gold(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> GoldTerms:
        return -weight * log_x, weight + 0.0 * log_x


@dataclass(frozen=True, config=CHECKED)
class Focal(OfGold):
    """Focal loss: -w (1 - x)^gamma log x, which down-weights what the model already gets right.

    gamma (float): Focus, no unit, at least 0. 0 is cross-entropy.
    weights (Optional[ClassWeights]): A class-weight preset; null weighs every class 1.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: Lin et al. 2017, arXiv:1708.02002, eq. 4.
    """

    gamma: NonNegativeFloat = 2.0
    weights: ClassWeights | None = None

    def of_gold(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> GoldTerms:
        xp = get_array_module(log_x)
        hard = -xp.expm1(log_x)  # 1 - x
        # t = -log x / (1 - x), 1 in the limit: no negative power, finite for every gamma >= 0
        t = xp.where(hard > 0, -log_x / xp.where(hard > 0, hard, 1.0), 1.0)
        focus = weight * hard**self.gamma
        return -focus * log_x, focus * (1 + self.gamma * xp.exp(log_x) * t)


class AroundLoss(TagLoss):
    """A loss around a `base`, which it leaves as it is but for what a subclass changes."""

    base: Any

    @property
    def heads(self) -> tuple[str, ...]:
        """Those of the base; none around a loss that reads soft targets, which would not get any."""
        return () if self.base.reads_soft else self.base.heads

    @property
    def preset(self) -> ClassWeights | None:
        return self.base.preset

    @property
    def log_likelihood(self) -> bool:
        return self.base.log_likelihood

    def of_gold(self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float) -> GoldTerms:
        return self.base.of_gold(log_x, is_o, weight)

    def weight(self, q: Floats2d) -> Floats1d | float:
        return self.base.weight(q)

    def bind(self, class_values: Floats1d) -> Any:
        bound = copy.copy(self)
        object.__setattr__(bound, "base", self.base.bind(class_values))
        return bound

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        return self.base.rows(logits, gold)
