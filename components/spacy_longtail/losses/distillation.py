"""Distillation: a base loss on annotated tokens, and a teacher's distribution as soft targets."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows, logsumexp
from ..types import ClassWeights, LossResult, SoftTargets
from .base import CHECKED, Loss, Share
from .token import CrossEntropy, TagLoss, masked_mean

LOWEST = -1e30  # stands for -inf in rows that are not used


@dataclass(frozen=True, config=CHECKED)
class Distillation(Loss):
    """(1 - share) base + share T^2 H(q, p) on tokens with a teacher, the base loss alone on others.

    H is the cross-entropy of the student's p under the teacher's q, both softened: raised to 1 / T
    and normalised over the tags that both share. T^2 keeps the size of its gradient. Tokens without
    annotation learn from the teacher too.

    base (Optional[TagLoss]): The loss of annotated tokens; null is cross-entropy.
    temperature (float): T, no unit, at least 1; higher tells more of the tags that are unlikely.
    share (float): Share of the soft term where there is a teacher, no unit, 0 to 1; 0 is the base.
    RETURNS (LossResult): Nats per token that is annotated or has a teacher, and the exact gradient.
    SOURCE: Hinton et al. 2015, arXiv:1503.02531 (docs/methods.md, "Distillation").
    """

    base: TagLoss | None = None
    temperature: Annotated[float, Field(ge=1)] = 2.0
    share: Share = 0.5

    @property
    def inner(self) -> TagLoss:
        """The base loss."""
        return self.base or CrossEntropy()

    @property
    def heads(self) -> tuple[str, ...]:
        return ("softmax",) if "softmax" in self.inner.heads else ()

    @property
    def preset(self) -> ClassWeights | None:
        return self.inner.preset

    def bind(self, class_values: Floats1d) -> "Distillation":
        return replace(self, base=self.inner.bind(class_values))

    @property
    def reads_soft(self) -> bool:
        return self.share > 0

    def soft_rows(self, scores: Floats2d, soft: SoftTargets) -> Rows:
        """The soft term of each token, times T^2: 0 without a teacher, or where no tag is shared.

        scores (Floats2d): (n_tokens, n_tags), logits or log probabilities; -inf shuts a tag.
        """
        xp, t = get_array_module(scores), self.temperature
        log_p = xp.asarray(soft.log_p, dtype=scores.dtype)
        shared = (scores > -xp.inf) & (log_p > -xp.inf)
        known = (xp.asarray(soft.known) > 0) & shared.any(axis=1)
        shared |= ~known[:, None]  # some tag must be open where nothing is shared: it is not used
        softened = (xp.where(shared, xp.maximum(z, LOWEST) / t, -xp.inf) for z in (log_p, scores))
        teacher, student = (z - logsumexp(z) for z in softened)
        q = xp.exp(teacher)
        f = -(q * xp.where(shared, student, 0.0)).sum(axis=1)
        d_rows = (xp.exp(student) - q) / t
        scale = xp.where(known, t * t, 0.0).astype(scores.dtype)
        return Rows(f, d_rows).times(scale)

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, soft: SoftTargets | None = None
    ) -> LossResult:
        """As of the base loss. soft (Optional[SoftTargets]): What a teacher made of the tokens."""
        rows = self.inner.weighted_rows(logits, gold)
        if soft is None:
            return masked_mean(rows, mask)
        xp = get_array_module(logits)
        mask, known = (xp.asarray(a, dtype=logits.dtype) for a in (mask, soft.known))
        n_trained = max(float(xp.maximum(mask, known).sum()), 1.0)
        scale = mask * (1 - self.share * known) / n_trained
        taught, factor = self.soft_rows(logits, soft), self.share / n_trained
        value = float((rows.f * scale).sum()) + factor * float(taught.f.sum())
        d_logits = rows.d_rows * scale[:, None] + factor * taught.d_rows
        return LossResult(value, d_logits.astype(logits.dtype))
