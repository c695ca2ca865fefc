"""Distillation: a loss on annotated tokens, and a teacher's distributions as soft targets."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats2d, Ints1d

from ..numerics import Rows, logsumexp
from ..settings import CHECKED
from ..types import SoftTargets
from .base import SoftmaxLoss, TokenLoss, check_loss
from .token import WrappingLoss

FLOOR = -1e30  # instead of -inf in rows that are not used


@dataclass(frozen=True, config=CHECKED)
class Distillation(WrappingLoss):
    """(1 - share) base + share T^2 H(q, p) on tokens with a teacher, the base loss alone on others.

    H is the cross-entropy of the student's p under the teacher's q, both softened: raised to 1 / T
    and normalised over the tags that both have. T^2 keeps the size of its gradient. Tokens without
    annotation learn from the teacher as well.

    base (Optional[TokenLoss]): The loss of annotated tokens; null is cross-entropy.
    temperature (float): T, no unit, at least 1. A higher one shows more of the unlikely tags.
    share (float): Weight of the soft term on tokens with a teacher, no unit, 0 to 1. With 0 it is
        the base loss.
    RETURNS (Loss): The loss, in nats, summed over tokens with annotation or a teacher.
    RAISES (ValueError): If the base loss does not train a softmax.
    SOURCE: Hinton et al. 2015, arXiv:1503.02531 (docs/methods.md, "Distillation").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.Distillation.v1", "temperature": 3.0}
        >>> ner = nlp.add_pipe("longtail_token_ner", config={"loss": loss})
        >>> ner.loss
        Distillation(base=None, temperature=3.0, share=0.5)
    """

    base: TokenLoss | None = None
    temperature: Annotated[float, Field(ge=1)] = 2.0
    share: Annotated[float, Field(ge=0, le=1)] = 0.5

    def __post_init__(self) -> None:
        self._base_formula()

    def _base_formula(self) -> SoftmaxLoss:
        who, needs = "longtail.Distillation.v1", "a base that trains a softmax over tags"
        fix = "Use longtail.CrossEntropy.v1, Focal.v1, Dice.v1 or MoM.v1."
        return check_loss(self.inner, (SoftmaxLoss,), who, needs, fix)

    @property
    def reads_soft(self) -> bool:
        return self.share > 0

    def rows(self, logits: Floats2d, gold: Ints1d) -> Rows:
        """Return loss and gradient of each token under the base loss, as `SoftmaxLoss.rows`."""
        return self._base_formula().rows(logits, gold)

    def soft_rows(self, scores: Floats2d, soft: SoftTargets) -> Rows:
        """Return the soft term of each token times T^2: 0 without a teacher or a common tag.

        scores (Floats2d): Logits or log probabilities, shape (n_tokens, n_tags). Masked tags are
            -inf.
        soft (SoftTargets): The teacher's distributions.
        """
        xp, t = get_array_module(scores), self.temperature
        log_p = xp.asarray(soft.log_p, dtype=scores.dtype)
        shared = (scores > -xp.inf) & (log_p > -xp.inf)
        known = (xp.asarray(soft.known) > 0) & shared.any(axis=1)
        shared |= ~known[:, None]  # some tag has to be possible in rows that are not used
        softened = (xp.where(shared, xp.maximum(z, FLOOR) / t, -xp.inf) for z in (log_p, scores))
        teacher, student = (z - logsumexp(z) for z in softened)
        q = xp.exp(teacher)
        f = -(q * xp.where(shared, student, 0.0)).sum(axis=1)
        d_rows = (xp.exp(student) - q) / t
        scale = xp.where(known, t * t, 0.0).astype(scores.dtype)
        return Rows(f, d_rows).times(scale)

    def add_teacher(self, rows: Rows, logits: Floats2d, soft: SoftTargets) -> Rows:
        """Return loss and gradient of each token with the soft term.

        rows (Rows): Weighted loss and gradient under the base loss, 0 without annotation.
        logits (Floats2d): Unnormalised scores, shape (n_tokens, n_tags). Masked tags are -inf.
        soft (SoftTargets): The teacher's distributions.
        """
        known = get_array_module(logits).asarray(soft.known, dtype=logits.dtype)
        base, taught = rows.times(1 - self.share * known), self.soft_rows(logits, soft)
        return Rows(base.f + self.share * taught.f, base.d_rows + self.share * taught.d_rows)
