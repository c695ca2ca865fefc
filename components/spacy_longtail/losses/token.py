"""Losses on token logits: of p(gold), one versus rest, and more weight on O."""

import copy
from typing import Annotated, Any, ClassVar

from pydantic import Field, NonNegativeFloat, validate_call
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows, binary_cross_entropy, gold_rows, log_sigmoid
from ..types import ClassWeights, LossResult
from .base import CHECKED, Loss

GoldTerms = tuple[Floats1d, Floats1d]
GOLD_HEADS = ("softmax", "crf", "transition")


class TagLoss(Loss):
    """A loss on token logits: the mean over annotated tokens of what `rows` gives.

    Most are a function f(x) of x, the probability of the acceptable classes. Its gradient is
    u (p - q), so that one formula, `of_gold`, serves softmax heads, CRF marginals and `ner`.
    """

    weights: ClassWeights | None = None
    class_values: Floats1d | None = None  # (n_tags,), set by `bind`, never a setting
    lam: float = 1.0  # factor on entities, set by `MoM`, never a setting

    @property
    def heads(self) -> tuple[str, ...]:
        """A yes or no has no class of its own, hence no class weight."""
        return GOLD_HEADS if self.preset is not None else (*GOLD_HEADS, "binary")

    @property
    def preset(self) -> ClassWeights | None:
        return self.weights

    @property
    def log_likelihood(self) -> bool:
        """Whether the loss is -log p(gold): a CRF then trains on its exact likelihood."""
        return False

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        """f and u = -f'(x) x, row by row, without weights.

        log_x (Floats1d): (n,), log probability of the acceptable classes.
        """
        raise NotImplementedError

    def of_o(self, is_o: Floats1d) -> Floats1d:
        """1 for O, lam for entities. is_o (Floats1d): (n,), 1.0 where the gold class is O."""
        return is_o + self.lam * (1 - is_o)

    def weight(self, q: Floats2d) -> Floats1d:
        """The factor on each row: its class weight, averaged by q, times `of_o`. (n,)

        q (Floats2d): (n, n_tags), the softmax within the acceptable classes.
        """
        factor = self.of_o((q[:, 0] > 0.5).astype(q.dtype))
        if self.weights is None:
            return factor
        if self.class_values is None:
            raise ValueError(f"{self} has no class weights: initialize its pipe, or bind them")
        return factor * (q @ get_array_module(q).asarray(self.class_values, dtype=q.dtype))

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        """Loss and gradient of each token on its own, without weights; arguments as of the call."""
        log_x, d_rows, _ = gold_rows(logits, gold)
        f, u = self.of_gold(log_x)
        return Rows(f, d_rows * u[:, None])

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> Rows:
        """Loss and gradient of each yes or no. logits, targets (Floats1d): (n,), 1.0 is yes."""
        cross_entropy, d_rows = binary_cross_entropy(logits, targets)
        f, u = self.of_gold(-cross_entropy)
        return Rows(f, u * d_rows)

    def weighted_rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        """Loss and gradient of each token on its own; arguments as of the call."""
        rows = self.rows(logits, gold)
        is_plain = self.weights is None and self.lam == 1
        return rows if is_plain else rows.times(self.weight(gold_rows(logits, gold).q))

    def bind(self, class_values: Floats1d) -> Any:
        return self._with(class_values=class_values)

    def _with(self, **attributes: Any) -> Any:
        bound = copy.copy(self)
        bound.__dict__.update(attributes)
        return bound

    def __call__(self, logits: Floats2d, gold: Floats2d, mask: Floats1d) -> LossResult:
        """Loss and exact gradient on token logits.

        logits (Floats2d): (n_tokens, n_tags), unnormalised, column 0 is O.
        gold (Floats2d): (n_tokens, n_tags), above 0 for every acceptable tag, at least one per row.
        mask (Floats1d): (n_tokens,), 0.0 for tokens without annotation, else 1.0.
        RETURNS (LossResult): Nats per unmasked token, and the gradient (n_tokens, n_tags).
        """
        return masked_mean(self.weighted_rows(logits, gold), mask)

    def binary(self, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> LossResult:
        """Loss and exact gradient on one logit per token. O is the answer no.

        logits, targets (Floats1d): (n,), unnormalised; 1.0 yes, 0.0 no.
        mask (Floats1d): (n,), 0.0 for what must not count, else 1.0.
        SOURCE: docs/methods.md, "Reading comprehension".
        """
        targets = get_array_module(logits).asarray(targets, dtype=logits.dtype)
        return masked_mean(self.binary_rows(logits, targets).times(self.of_o(1 - targets)), mask)


def masked_mean(rows: Rows, mask: Floats1d) -> LossResult:
    """The mean over unmasked rows, and its gradient. mask (Floats1d): (n,), 0.0 or 1.0."""
    xp = get_array_module(rows.f)
    mask = xp.asarray(mask, dtype=rows.f.dtype)
    f, d_rows = rows.times(mask / xp.maximum(mask.sum(), 1.0))
    return LossResult(float(f.sum()), d_rows)


@dataclass(frozen=True, config=CHECKED)
class CrossEntropy(TagLoss):
    """Cross-entropy: -w log x, x the probability of the gold class (or of all acceptable ones).

    weights (Optional[ClassWeights]): Such as longtail.inverse_frequency.v1; null is 1 for all.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: docs/methods.md, "Cross-entropy"; with weights, Nemoto et al. 2025 (WCE).
    """

    weights: ClassWeights | None = None

    @property
    def log_likelihood(self) -> bool:
        return self.weights is None and self.lam == 1

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        return -log_x, get_array_module(log_x).ones_like(log_x)


@dataclass(frozen=True, config=CHECKED)
class Focal(TagLoss):
    """Focal loss: -w (1 - x)^gamma log x, which down-weights what the model already gets right.

    gamma (float): Focus, no unit, at least 0. 0 is cross-entropy.
    weights (Optional[ClassWeights]): A class-weight preset; null weighs every class 1.
    RETURNS (LossResult): Nats per unmasked token, and the exact gradient.
    SOURCE: Lin et al. 2017, arXiv:1708.02002, eq. 4.
    """

    gamma: NonNegativeFloat = 2.0
    weights: ClassWeights | None = None

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        xp = get_array_module(log_x)
        hard = -xp.expm1(log_x)  # 1 - x
        # t = -log x / (1 - x), 1 in the limit: no negative power, finite for every gamma >= 0
        t = xp.where(hard > 0, -log_x / xp.where(hard > 0, hard, 1.0), 1.0)
        focus = hard**self.gamma
        return -focus * log_x, focus * (1 + self.gamma * xp.exp(log_x) * t)


@dataclass(frozen=True, config=CHECKED)
class OneVersusRestFocal(TagLoss):
    """Focal loss of a sigmoid per tag: -(1 - s)^gamma log s for gold, else -s^gamma log(1 - s).

    gamma (float): Focus, no unit, at least 0. 0 is binary cross-entropy.
    RETURNS (LossResult): Nats per unmasked token, summed over tags, and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 5, and ours (docs/methods.md, "One-versus-rest focal loss").
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


@validate_call(config=CHECKED)
def MoM(base: TagLoss | None = None, lam: Annotated[float, Field(gt=0, le=1)] = 0.2) -> TagLoss:
    """Majority or minority: lam base(all tokens) + (1 - lam) base(gold-O tokens), over all tokens.

    So the base loss weighs 1 on O and lam on entities: the reverse of inverse frequency.

    base (Optional[TagLoss]): The loss on tokens; null is cross-entropy.
    lam (float): Share of the base term, no unit, above 0 and at most 1. 1 is the base alone.
    RETURNS (TagLoss): The base loss so weighted: nats per unmasked token, and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 1-2, sign fixed (docs/methods.md, "Majority or minority").
    """
    base = base or CrossEntropy()
    bound: TagLoss = base._with(lam=base.lam * lam)
    return bound
