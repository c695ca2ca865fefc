"""Distillation: a base loss on annotated tokens, and a teacher's tag distribution as soft targets."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors
from ..numerics import logsumexp
from ..settings import finite
from ..types import ClassPreset, LossResult, SoftTargets
from .cross_entropy import CrossEntropy
from .token import Rows, TagLoss

TAUGHT = ("softmax", "crf")
LOWEST = -1e30  # stands for -inf in rows that are not used


class SoftRows(NamedTuple):
    f: Floats1d  # (n_tokens,), the soft term of each token
    d_rows: Floats2d  # (n_tokens, n_tags), d f / d log scores


@dataclass(frozen=True)
class Distillation(TagLoss):
    """(1 - share) base + share T^2 H(q, p) on tokens with a teacher, the base loss alone on others.

    H is the cross-entropy of the student's p under the teacher's q, both softened: raised to 1 / T and
    normalised over the tags that teacher and student share. T^2 keeps the size of its gradient. Of a CRF
    p are the marginals, differentiated through forward-backward; a sentence with a teacher counts its
    base term (1 - share) times. Tokens without annotation learn from the teacher too.

    base (Optional[TagLoss]): The loss of annotated tokens; null is cross-entropy.
    temperature (float): T, no unit, at least 1; higher tells more of the tags that are unlikely.
    share (float): Share of the soft term where there is a teacher, no unit, 0 to 1. 0 is the base alone.
    RETURNS (LossResult): Nats per token that is annotated or has a teacher, and the exact gradient.
    SOURCE: Hinton et al. 2015, arXiv:1503.02531 (docs/methods.md, "Distillation").
    """

    base: Any = None
    temperature: float = 2.0
    share: float = 0.5

    def __post_init__(self) -> None:
        rule, fix = "a finite number of at least 1", "1 takes the teacher's probabilities as they are."
        temperature = finite("temperature", self.temperature, rule, fix, 1.0)
        share = finite("share", self.share, "between 0 and 1", "0 is the base loss alone.", 0.0, 1.0)
        base = CrossEntropy() if self.base is None else self.base
        is_tag_loss = isinstance(base, TagLoss)
        if not is_tag_loss or base.reads_soft or not {*TAUGHT} & {*base.heads}:
            reason = "it trains no head with a distribution over tags"
            if not is_tag_loss:
                reason = "it is not a loss on tokens"
            elif base.reads_soft:
                reason = "it reads soft targets itself"
            who, fix = (
                "longtail.Distillation.v1",
                "Use longtail.CrossEntropy.v1 or longtail.Focal.v1.",
            )
            raise ValueError(Errors.L002.format(who=who, loss=base, reason=reason, fix=fix))
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "temperature", temperature)
        object.__setattr__(self, "share", share)

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(head for head in TAUGHT if head in self.base.heads)

    @property
    def reads_soft(self) -> bool:
        return self.share > 0

    @property
    def preset(self) -> ClassPreset | None:
        return self.base.preset

    @property
    def log_likelihood(self) -> bool:
        return self.base.log_likelihood

    def bind(self, class_values: Floats1d) -> Any:
        bound = copy.copy(self)
        object.__setattr__(bound, "base", self.base.bind(class_values))
        return bound

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        return self.base.of_gold(log_x, is_o, weight)

    def weight(self, q: Floats2d) -> Floats1d | float:
        return self.base.weight(q)

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        return self.base.rows(logits, gold)

    def counted(self, gold: Floats2d) -> Floats1d | float:
        return self.base.counted(gold)

    def coefficients(self, is_o: Floats1d, mask: Floats1d, lengths: Ints1d | None) -> Floats1d:
        return self.base.coefficients(is_o, mask, lengths)

    def soft_rows(self, scores: Floats2d, soft: SoftTargets) -> SoftRows:
        """The soft term of each token, times T^2: 0 without a teacher, or where no tag is shared.

        scores (Floats2d): (n_tokens, n_tags), logits or log probabilities; -inf shuts a tag.
        soft (SoftTargets): What the teacher made of the tokens.
        """
        xp, t = get_array_module(scores), self.temperature
        log_p = xp.asarray(soft.log_p, dtype=scores.dtype)
        shared = (scores > -xp.inf) & (log_p > -xp.inf)
        known = (xp.asarray(soft.known) > 0) & shared.any(axis=1)
        shared |= ~known[:, None]  # some tag must be open where nothing is shared: it is not used
        teacher, student = (_softened(z, shared, t) for z in (log_p, scores))
        q = xp.exp(teacher)
        f = -(q * xp.where(shared, student, 0.0)).sum(axis=1)
        d_rows = (xp.exp(student) - q) / t
        scale = xp.where(known, t * t, 0.0).astype(scores.dtype)
        return SoftRows(f * scale, d_rows * scale[:, None])

    def with_teacher(
        self,
        logits: Floats2d,
        gold: Floats2d,
        mask: Floats1d,
        lengths: Ints1d | None,
        soft: SoftTargets,
    ) -> LossResult:
        """As the call, with soft targets, on token logits.

        soft (SoftTargets): Those of the tokens.
        """
        xp = get_array_module(logits)
        mask = xp.asarray(mask, dtype=logits.dtype)
        known = xp.asarray(soft.known, dtype=logits.dtype)
        n_trained = max(float(xp.maximum(mask, known).sum()), 1.0)
        f, d_rows, is_o = self.base.rows(logits, gold)
        own = self.base.coefficients(is_o, mask * self.base.counted(gold), lengths)
        scale = own * (1 - self.share * known) * (float(mask.sum()) / n_trained)
        rows = self.soft_rows(logits, soft)
        factor = self.share / n_trained
        value = float((f * scale).sum()) + factor * float(rows.f.sum())
        d_logits = d_rows * scale[:, None] + factor * rows.d_rows
        return LossResult(value, d_logits.astype(logits.dtype))


def _softened(z: Floats2d, shared: Floats2d, temperature: float) -> Floats2d:
    """Log probabilities of z / T over the tags that are shared; -inf for others."""
    xp = get_array_module(z)
    own = xp.where(shared, xp.maximum(z, LOWEST) / temperature, -xp.inf)
    return own - logsumexp(own)
