"""Heads: turn a token model's outputs into a loss in training, and into tags in prediction."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from thinc.api import Model
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.tags import TagCodec
from ..errors import Errors
from ..layers.transitions import Lattice
from ..losses import CrossEntropy, Loss
from ..types import SoftTargets, TwoTaskState

UNLIKELY = -5.0  # a logit

Scores: TypeAlias = Ragged | Lattice  # a model's output: the CRF has transitions beside the logits
Output = TypeVar("Output", Ragged, Lattice)


class Gold(NamedTuple):
    """Gold annotation of a batch."""

    tags: Ints1d  # (n_tokens,), column of the gold tag
    mask: Floats1d  # (n_tokens,), 0.0 without annotation
    lengths: Ints1d  # (n_sentences,), tokens per sentence
    # (n_tokens, n_tags), 0.0 for tags that a document was not annotated with; None allows all
    allowed: Floats2d | None = None
    soft: SoftTargets | None = None  # for a loss that reads them


class Trained(NamedTuple, Generic[Output]):
    """Loss and gradient of a batch."""

    loss: float  # summed over the tokens that were trained on
    d_scores: Output  # gradient, as the model's output
    state: TwoTaskState  # for the next batch

    @property
    def numbers(self) -> list[Any]:
        """Return the loss and each array of the gradient."""
        parts: list[Any] = [self.loss, Head.logits(self.d_scores).dataXd]
        if isinstance(self.d_scores, Lattice):
            parts.extend(self.d_scores.transitions)
        return parts


class Decoded(NamedTuple):
    """Predicted tags."""

    tags: Ints1d  # (n_tokens,), columns of a legal tag sequence per sentence
    # (n_tokens,), probability of that tag; 1.0 in sentences without an entity, which no score needs
    p: Floats1d


class Head(ABC, Generic[Output]):
    """A head of `longtail_token_ner`. It has no weights but those that it adds to the model.

    codec (TagCodec): Tags and their order.
    loss (Loss): The loss to train with, whose formula is of one of `kinds`.
    class_values (Optional[Floats1d]): Class weight of each tag, a NumPy array of shape (n_tags,):
        as resolved from the training data for a loss with class weights.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[type[Loss], ...]]  # of loss that the head trains with
    needs: ClassVar[str]  # the same in words
    default_loss: ClassVar[type[Loss]] = CrossEntropy
    schemes: ClassVar[tuple[str, ...]] = ("BIO", "BILUO")
    can_mask: ClassVar[bool] = False  # whether it can leave out tags that a document cannot have
    initial_bias: ClassVar[float] = 0.0  # of an output that is added after training

    def __init__(self, codec: TagCodec, loss: Loss, class_values: Floats1d | None = None) -> None:
        self.codec = codec
        self.loss = loss
        self.formula = loss.formula
        self.class_values = class_values
        self.legality = codec.legality()

    @property
    def outputs(self) -> list[str]:
        """Return a name for each output of the model, in order."""
        return self.codec.tags

    def initial_biases(self, before: Sequence[str]) -> list[float]:
        """Return the bias that each output starts with if it is added after training.

        before (Sequence[str]): Names of the outputs that the model had.
        """
        return [self.initial_bias] * len(self.outputs)

    @staticmethod
    def attach(model: Model) -> Model:
        """Return the model with the layers that the head adds to it."""
        return model

    @abstractmethod
    def train(self, scores: Output, gold: Gold, state: TwoTaskState) -> Trained[Output]:
        """Return loss and gradient of a batch, and the next state of a two-task loss."""

    @abstractmethod
    def decode(self, scores: Output, lengths: Ints1d, outside: Floats1d, score: bool) -> Decoded:
        """Return legal tags and their probabilities.

        scores (Ragged | Lattice): The model's output.
        lengths (Ints1d): Tokens per sentence, shape (n_sentences,).
        outside (Floats1d): 1.0 for tokens that cannot be in an entity, shape (n_tokens,).
        score (bool): Whether probabilities are needed; otherwise they may all be 1.
        """

    @abstractmethod
    def marginals(self, scores: Output, lengths: Ints1d, outside: Floats1d) -> Floats2d:
        """Return the probability of each tag at each token, shape (n_tokens, n_tags).

        The arguments are those of `decode`.
        """

    @staticmethod
    def logits(scores: Scores) -> Ragged:
        """Return the rows of the model's output, one per token."""
        return scores.logits if isinstance(scores, Lattice) else scores

    def token_weights(self, gold: Gold) -> Floats1d:
        """Return the weight of each token, float64 of shape (n_tokens,): 0 without annotation.

        It is the class weight of the gold tag, times the loss's factor on entities unless that tag
        is O.

        RAISES (ValueError): If the loss has class weights that are not resolved yet (L870).
        """
        weights = gold.mask * np.where(gold.tags > 0, self.loss.entity_factor, 1.0)
        if self.loss.class_weights is None:
            return weights
        if self.class_values is None:
            raise ValueError(Errors.L870.format(loss=self.loss))
        return weights * self.class_values[gold.tags]
