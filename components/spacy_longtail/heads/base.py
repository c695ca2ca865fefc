"""What a head is: how outputs become a loss in training, and tags in prediction."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from thinc.api import Model, get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..chains.packing import Transitions
from ..chains.tags import TagCodec
from ..layers.transitions import Lattice
from ..losses import CrossEntropy
from ..types import SoftTargets, TwoTaskState

UNLIKELY = -5.0  # a logit

Scores: TypeAlias = Ragged | Lattice  # what a model gives: the CRF has transitions beside the rows


class Gold(NamedTuple):
    tags: Ints1d  # (n_tokens,), the column of the gold tag
    mask: Floats1d  # (n_tokens,), 0.0 without annotation
    lengths: Ints1d  # (n_sentences,)
    # (n_tokens, n_tags), 0.0 for tags of types that a document was not annotated with, or none
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

    def summed(self, n: float) -> tuple[float, Scores]:
        """Loss and gradient summed over n tokens; the loss is NaN where the gradient overflows."""
        rows = Head.logits(self.d_scores)
        transitions = self.d_scores.transitions if isinstance(self.d_scores, Lattice) else ()
        d_rows, *d = (a * n for a in (rows.dataXd, *transitions))
        is_finite = all(bool(get_array_module(a).isfinite(a).all()) for a in (d_rows, *d))
        summed = Ragged(d_rows, rows.lengths)
        loss = self.loss * n if is_finite else math.nan
        return loss, Lattice(summed, Transitions(*d)) if d else summed


class Decoded(NamedTuple):
    tags: Ints1d  # (n_tokens,), columns of a legal tag sequence per sentence
    p: Floats1d  # (n_tokens,), probability of that tag


class Head(ABC):
    """A head of `longtail_token_ner`; it has no weights but those that it adds to the model."""

    name: ClassVar[str]
    default_loss: ClassVar[type] = CrossEntropy
    schemes: ClassVar[tuple[str, ...]] = ("BIO", "BILUO")
    can_shut: ClassVar[bool] = False  # whether it trains on tags that a document can have alone
    unlearnt: ClassVar[float] = 0.0  # the value of an output that was added after training

    def __init__(self, codec: TagCodec, loss: Any) -> None:
        self.codec = codec
        self.loss = loss
        self.legality = codec.legality()

    @property
    def outputs(self) -> list[str]:
        """A name for each output of the model, in order."""
        return self.codec.tags

    def fresh(self, before: Sequence[str]) -> list[float]:
        """The value that each output has, whatever the input, if it was added after training."""
        return [self.unlearnt] * len(self.outputs)

    @staticmethod
    def attach(model: Model) -> Model:
        """The model with what the head adds to it."""
        return model

    @abstractmethod
    def train(self, scores: Any, gold: Gold, loss: Any, state: TwoTaskState) -> Trained:
        """Loss and gradient of one batch, and what a two-task loss carries to the next."""

    @abstractmethod
    def decode(self, scores: Any, lengths: Ints1d, outside: Floats1d, score: bool) -> Decoded:
        """Legal tags and their probabilities.

        lengths (Ints1d): (n_sentences,), tokens per sentence.
        outside (Floats1d): (n_tokens,), 1.0 where no entity may stand.
        """

    @abstractmethod
    def marginals(self, scores: Any, lengths: Ints1d, outside: Floats1d) -> Floats2d:
        """The probability of each tag at each token; arguments as above. (n_tokens, n_tags)"""

    @staticmethod
    def logits(scores: Scores) -> Ragged:
        """The rows of the model's output, one per token."""
        return scores.logits if isinstance(scores, Lattice) else scores
