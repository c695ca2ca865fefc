"""What a head is: how outputs become a loss in training, and tags in prediction."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from thinc.api import Model, get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions
from ..chains.tags import ILLEGAL, TagCodec
from ..layers import Lattice
from ..losses import CrossEntropy
from ..losses.base import Loss
from ..losses.token import TagLoss
from ..types import SoftTargets, TwoTaskState

UNLIKELY = -5.0  # a logit

Own = TypeVar("Own", bound=Loss)  # the losses that a head trains
Scores: TypeAlias = Ragged | Lattice  # what a model gives: the CRF has transitions beside the rows


class Gold(NamedTuple):
    tags: Ints1d  # (n_tokens,), the column of the gold tag
    mask: Floats1d  # (n_tokens,), 0.0 without annotation
    lengths: Ints1d  # (n_sentences,)
    # (n_tokens, n_tags), 0.0 for tags of types that a document was not annotated with; null for none
    allowed: Floats2d | None = None
    soft: SoftTargets | None = None  # of a loss that reads them, where documents have some

    @property
    def n_trained(self) -> float:
        """Tokens that are annotated, or that a teacher has read."""
        if self.soft is None:
            return float(self.mask.sum())
        return float(np.maximum(self.mask, self.soft.known).sum())


class Trained(NamedTuple):
    loss: float  # mean over trained tokens
    d_scores: Scores  # as the model's output
    state: TwoTaskState


class Decoded(NamedTuple):
    tags: Ints1d  # (n_tokens,), columns of a legal tag sequence per sentence
    p: Floats1d  # (n_tokens,), probability of that tag


class Head(ABC, Generic[Own]):
    """One of the heads of `longtail_token_ner`; it has no weights but those it adds to the model.

    codec (TagCodec): Labels and scheme.
    loss (Loss): With its class values bound, if it has any.
    """

    name: ClassVar[str]
    default_loss: ClassVar[type] = CrossEntropy
    schemes: ClassVar[tuple[str, ...]] = ("BIO", "BILUO")
    can_shut: ClassVar[bool] = False  # whether it trains on tags that a document can have alone
    unlearnt: ClassVar[float] = 0.0  # the value of an output that was added after training

    def __init__(self, codec: TagCodec, loss: Own) -> None:
        self.codec = codec
        self.loss = loss
        self.legality = codec.legality()

    @property
    def outputs(self) -> list[str]:
        """A name for each output of the model, in order."""
        return self.codec.tags

    def fresh(self, before: Sequence[str]) -> list[float]:
        """The value that each output has, whatever the input, if it was added after training.

        before (Sequence[str]): The outputs that there were.
        """
        return [self.unlearnt] * len(self.outputs)

    @staticmethod
    def attach(model: Model) -> Model:
        """The model with what the head adds to it."""
        return model

    @abstractmethod
    def train(self, scores: Scores, gold: Gold, loss: Own, state: TwoTaskState) -> Trained:
        """Loss and gradient of one batch."""

    @abstractmethod
    def decode(
        self,
        scores: Scores,
        lengths: Ints1d,
        outside: Floats1d,
        score: bool,
        state: TwoTaskState,
    ) -> Decoded:
        """Legal tags and their probabilities.

        lengths (Ints1d): (n_sentences,), tokens per sentence.
        outside (Floats1d): (n_tokens,), 1.0 where no entity may stand.
        score (bool): Whether the probabilities are wanted.
        state (TwoTaskState): What training left, with the classes' means.
        """

    @abstractmethod
    def marginals(
        self, scores: Scores, lengths: Ints1d, outside: Floats1d, state: TwoTaskState
    ) -> Floats2d:
        """The probability of each tag at each token; arguments as above. (n_tokens, n_tags)"""

    @staticmethod
    def scaled(d_scores: Ragged, factor: float) -> Ragged:
        """A gradient on the model's output, times a number."""
        return Ragged(d_scores.dataXd * factor, d_scores.lengths)

    @staticmethod
    def logits(scores: Ragged) -> Ragged:
        """The rows of the model's output, one per token."""
        return scores

    def is_finite(self, d_scores: Ragged) -> bool:
        """Whether a gradient on the model's output has no overflow in it."""
        data = self.logits(d_scores).dataXd
        return bool(get_array_module(data).isfinite(data).all())


class TagHead(Head[TagLoss]):
    """A head with an output per tag."""

    def _allowed(self, logits: Floats2d, gold: Gold) -> Floats2d:
        """The logits to train on: tags that a document cannot have are shut, and get no gradient."""
        if gold.allowed is None:
            return logits
        xp = get_array_module(logits)
        return xp.where(xp.asarray(gold.allowed) > 0, logits, xp.asarray(ILLEGAL, dtype=logits.dtype))

    def _shut(self, logits: Floats2d, outside: Floats1d) -> Floats2d:
        """The logits to decode: every tag but O is shut where nothing may stand."""
        if outside.any():
            logits = logits.copy()
            logits[get_array_module(logits).asarray(outside > 0), 1:] = ILLEGAL
        return logits

    def _legality(self, xp: ModuleType) -> Transitions:
        return Transitions(*(xp.asarray(t) for t in self.legality))
