"""Kinds of losses: the few interfaces that heads and pipes train with."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, TypeVar

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors
from ..numerics import Rows, binary_cross_entropy, logsumexp
from ..types import ClassWeights, TwoTaskState

GoldTerms = tuple[Floats1d, Floats1d]  # f and u of each row


class Loss(ABC):  # noqa: B024
    """A registered loss: a frozen dataclass of its settings, with an exact gradient.

    A loss is a formula, and the weight of each token. The formula is of one of the kinds below
    (`GoldLoss`, `SoftmaxLoss`, `BinaryLoss`, `TwoTaskLoss`) or a `Distillation`, which decides what
    it can train. The weight of a token is the class weight of its gold tag, times `entity_factor`
    unless that tag is O. Formulas do not know the weights: heads and pipes multiply by them.
    """

    @property
    def formula(self) -> "Loss":
        """Return the loss without weights: the loss itself, unless it wraps another one."""
        return self

    @property
    def class_weights(self) -> ClassWeights | None:
        """Return the class weights, to be resolved from the training data; None weighs all 1."""
        return None

    @property
    def entity_factor(self) -> float:
        """Return the factor on tokens whose gold tag is not O, no unit."""
        return 1.0

    @property
    def is_likelihood(self) -> bool:
        """Return whether the loss is -log p(gold): a CRF then trains on its exact likelihood."""
        return False

    @property
    def reads_soft(self) -> bool:
        """Return whether the loss learns from a teacher's soft targets as well."""
        return False


class TokenLoss(Loss):
    """A loss of single tokens, which other losses can wrap."""


class SoftmaxLoss(TokenLoss):
    """A formula for a softmax over tags: trains the head `softmax`."""

    @abstractmethod
    def rows(self, logits: Floats2d, gold: Ints1d) -> Rows:
        """Return loss and gradient of each token, without weights.

        logits (Floats2d): Unnormalised scores, shape (n_tokens, n_tags). Masked tags are -inf.
        gold (Ints1d): Column of the gold tag of each token, shape (n_tokens,). Column 0 is O.
        RETURNS (Rows): Losses, shape (n_tokens,), and gradient, shape (n_tokens, n_tags).
        """


class BinaryLoss(TokenLoss):
    """A formula for yes-or-no outputs: trains the head `sigmoid` and `longtail_mrc_ner`."""

    @abstractmethod
    def binary_rows(self, logits: Floats2d, targets: Floats2d) -> Rows:
        """Return loss and gradient of each output, without weights.

        logits (Floats2d): Unnormalised scores of the answer yes, of any shape.
        targets (Floats2d): 1.0 for yes, 0.0 for no, in the same shape.
        RETURNS (Rows): Losses and gradient, each in the same shape.
        """


class GoldLoss(SoftmaxLoss, BinaryLoss):
    """A function f(x) of x, the probability of the right answer.

    Its gradient on the logits is u (p - q), u = -f'(x) x: so a single method serves the softmax,
    yes-or-no outputs, the marginals of a CRF and the actions of `longtail_ner`.

    SOURCE: docs/methods.md, "Conventions".
    """

    weights: ClassWeights | None = None  # a setting of the losses that have class weights

    @property
    def class_weights(self) -> ClassWeights | None:
        return self.weights

    @abstractmethod
    def of_gold(self, log_x: Floats1d) -> GoldTerms:
        """Return f and u = -f'(x) x of each row, without weights.

        log_x (Floats1d): Log probability of the right answer, at most 0, of any shape.
        RETURNS (Tuple[Floats1d, Floats1d]): f and u, in the same shape.
        """

    def rows(self, logits: Floats2d, gold: Ints1d) -> Rows:
        """Return loss and gradient of each token, exact even where p(gold) underflows."""
        xp = get_array_module(logits)
        log_p, at = logits - logsumexp(logits), (xp.arange(len(gold)), gold)
        f, u = self.of_gold(xp.minimum(log_p[at], 0.0))  # never above 0 by rounding
        difference = xp.exp(log_p)  # p - q, with q the gold tags: the gradient of cross-entropy
        difference[at] -= 1
        return Rows(f, difference * u[:, None])

    def binary_rows(self, logits: Floats2d, targets: Floats2d) -> Rows:
        cross_entropy, d_rows = binary_cross_entropy(logits, targets)
        f, u = self.of_gold(-cross_entropy)
        return Rows(f, u * d_rows)


class TwoTaskGold(NamedTuple):
    """Gold answers of the head `two_task`, each of shape (n_tokens,)."""

    entity: Floats1d  # 1.0 if the token is in an entity
    begin: Floats1d  # 1.0 if an entity begins at the token
    tags: Ints1d  # column of the gold tag, for losses with a tag head


class TwoTaskResult(NamedTuple):
    """Loss of a batch, its gradient, and the state for the next batch."""

    loss: float  # of the batch: class means enter it, so that it is no sum over tokens
    d_scores: Floats2d  # in the shape of the scores
    state: TwoTaskState


class TwoTaskLoss(Loss):
    """A loss of an entity output and a begin output per token: trains the head `two_task`.

    SOURCE: docs/methods.md, "Two-task heads".
    """

    has_tag_head: ClassVar[bool] = False  # whether `scores` has a column per tag after the two

    @abstractmethod
    def __call__(
        self, scores: Floats2d, gold: TwoTaskGold, mask: Floats1d, state: TwoTaskState
    ) -> TwoTaskResult:
        """Return the loss of a batch, its gradient and the next state.

        scores (Floats2d): Logits, shape (n_tokens, 2) or (n_tokens, 2 + n_tags): entity, begin, and
            the tags of a loss with a tag head.
        gold (TwoTaskGold): Gold answers.
        mask (Floats1d): 0.0 for tokens without annotation, else 1.0, shape (n_tokens,).
        state (TwoTaskState): State after the batch before.
        """


Kind = TypeVar("Kind", bound=Loss)


def check_loss(loss: object, kinds: tuple[type[Kind], ...], who: str, needs: str, fix: str) -> Kind:
    """Return the formula of a loss, if it is of one of the kinds that a component trains.

    loss (object): The loss as the config gave it, possibly of another package.
    kinds (Tuple[type, ...]): Acceptable kinds.
    who (str): Component that trains with the loss.
    needs (str): Description of the acceptable losses, for the message.
    fix (str): What to use instead, a sentence.
    RAISES (ValueError): If the loss is of another kind (L002).
    """
    if isinstance(loss, Loss) and isinstance(loss.formula, kinds):
        return loss.formula
    raise ValueError(Errors.L002.format(who=who, loss=loss, reason=f"it needs {needs}", fix=fix))
