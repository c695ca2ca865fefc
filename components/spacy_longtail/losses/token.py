"""Losses of single tokens: cross-entropy, focal loss and MoM."""

from typing import Annotated

from pydantic import Field, NonNegativeFloat
from pydantic.dataclasses import dataclass
from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d

from ..numerics import Rows
from ..settings import CHECKED
from ..types import ClassWeights
from .base import BinaryLoss, GoldLoss, GoldTerms, Loss, TokenLoss


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
