"""Losses of single tokens: cross-entropy, focal loss, MoM and distillation."""

from typing import Annotated

from pydantic import Field, NonNegativeFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..numerics import Rows, logsumexp
from ..settings import CHECKED
from ..types import ClassWeights, SoftTargets
from .base import BinaryLoss, GoldLoss, GoldTerms, Loss, SoftmaxLoss, TokenLoss, check_loss

FLOOR = -1e30  # instead of -inf in rows that are not used


@dataclass(frozen=True, config=CHECKED)
class CrossEntropy(GoldLoss):
    """Cross-entropy: -w log x, with x the probability of the gold tag and w its class weight.

    The default of most heads. A CRF takes it, without class weights, as the likelihood of the
    sentence.

    weights (Optional[ClassWeights]): Class weights, such as longtail.log_inverse_frequency.v1. With
        null every class has the weight 1.
    RETURNS (Loss): The loss, in nats, summed over annotated tokens.
    SOURCE: docs/methods.md, "Cross-entropy"; with class weights Nemoto et al. 2025 (WCE).
    EXAMPLE:
        >>> import numpy
        >>> from spacy_longtail.losses import CrossEntropy
        >>> logits, gold = numpy.array([[1.0, 0.0, -1.0]]), numpy.array([1])
        >>> CrossEntropy().rows(logits, gold).f.round(4)  # without weights
        array([1.4076])
    """

    weights: ClassWeights | None = None

    @property
    def is_likelihood(self) -> bool:
        return self.weights is None

    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        return -log_x, get_array_module(log_x).ones_like(log_x)


@dataclass(frozen=True, config=CHECKED)
class Focal(GoldLoss):
    """Focal loss: -w (1 - x)^gamma log x, which lowers the weight of tokens that are already right.

    gamma (float): Exponent, no unit, at least 0. With 0 it is cross-entropy.
    weights (Optional[ClassWeights]): Class weights; with null every class has the weight 1.
    RETURNS (Loss): The loss, in nats, summed over annotated tokens.
    SOURCE: Lin et al. 2017, arXiv:1708.02002, eq. 4 (docs/methods.md, "Focal loss").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.Focal.v1", "gamma": 3.0}
        >>> ner = nlp.add_pipe("longtail_ner", config={"loss": loss})
        >>> ner.loss
        Focal(gamma=3.0, weights=None)
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
class OneVersusRestFocal(BinaryLoss):
    """Focal loss of a sigmoid per tag: -(1 - s)^gamma log s for gold, else -s^gamma log(1 - s).

    gamma (float): Exponent, no unit, at least 0. With 0 it is binary cross-entropy.
    RETURNS (Loss): The loss, in nats, summed over the tags of annotated tokens.
    SOURCE: Nemoto et al. 2025, eq. 5; the term of the other tags is ours (docs/methods.md,
        "One-versus-rest focal loss").
    EXAMPLE:
        >>> loss = {"@losses": "longtail.OneVersusRestFocal.v1"}
        >>> ner = nlp.add_pipe("longtail_token_ner", config={"head": "sigmoid", "loss": loss})
        >>> ner.loss
        OneVersusRestFocal(gamma=2.0)
    """

    gamma: NonNegativeFloat = 2.0

    def binary_rows(self, logits: Floats2d, targets: Floats2d) -> Rows:
        return Focal(self.gamma).binary_rows(logits, targets)


class WrappingLoss(Loss):
    """A loss that wraps a loss of tokens, whose weights it has."""

    base: TokenLoss | None = None  # null is cross-entropy

    @property
    def inner(self) -> TokenLoss:
        """Return the wrapped loss."""
        return self.base or CrossEntropy()

    @property
    def class_weights(self) -> ClassWeights | None:
        return self.inner.class_weights

    @property
    def entity_factor(self) -> float:
        return self.inner.entity_factor


@dataclass(frozen=True, config=CHECKED)
class MoM(WrappingLoss, TokenLoss):
    """Majority or minority: lam base(all tokens) + (1 - lam) base(tokens whose gold tag is O).

    Tokens of entities thus have the weight lam and O has 1: the reverse of inverse frequency.

    base (Optional[TokenLoss]): The loss to weigh; null is cross-entropy.
    lam (float): Weight of tokens in entities, no unit, above 0 and at most 1, which is the base.
    RETURNS (Loss): The loss, in the unit of the base, summed over annotated tokens.
    SOURCE: Nemoto et al. 2025, eq. 1-2, with the sign corrected (docs/methods.md, "Majority or
        minority").
    EXAMPLE:
        >>> from spacy_longtail.losses import Focal, MoM
        >>> loss = MoM(Focal(gamma=3.0), lam=0.3)
        >>> loss.formula, loss.entity_factor
        (Focal(gamma=3.0, weights=None), 0.3)
    """

    base: TokenLoss | None = None
    lam: Annotated[float, Field(gt=0, le=1)] = 0.2

    @property
    def formula(self) -> Loss:
        return self.inner.formula

    @property
    def entity_factor(self) -> float:
        return self.lam * super().entity_factor

    @property
    def is_likelihood(self) -> bool:
        return self.lam == 1 and self.inner.is_likelihood


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
