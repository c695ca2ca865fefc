"""Shapes and protocols that modules share, and the names of the Doc attributes that pipes share."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from thinc.types import Floats1d, Floats2d, Ints1d

WEAK_SENTENCES = "weak_sentences"  # doc.spans key of the gate: flagged sentences, attrs["scores"]
ENTITY_SCORES = "entity_scores"  # doc.spans key of the NER pipes: entities, attrs["scores"]


class LossResult(NamedTuple):
    loss: float  # scalar, in the loss's own unit
    d_logits: Floats2d  # (n_tokens, n_tags), d loss / d logits


class SentenceCounts(NamedTuple):
    """What one sentence (or document) holds. Prefixes are merged, whitespace is not counted."""

    tokens: dict[str, int]  # entity tokens per type
    length: int  # annotated tokens, O included
    mentions: dict[str, int]  # entities per type
    singles: dict[str, int]  # one-token entities per type


@runtime_checkable  # else `loss = null` in a config raises
class TagLoss(Protocol):
    """A loss on token logits, METHODS section 0: a mean over unmasked tokens with its exact gradient."""

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, lengths: Ints1d | None = None
    ) -> LossResult: ...


@runtime_checkable
class GoldLoss(TagLoss, Protocol):
    """A loss that is a function of x, the probability of the acceptable classes, alone."""

    @property
    def weights(self) -> "ClassWeights | None": ...

    @property
    def normalizers(self) -> tuple[str, ...]: ...

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]: ...

    def bind(self, class_weights: Floats1d) -> "GoldLoss": ...


@runtime_checkable
class ClassWeights(Protocol):
    """A preset that turns class counts into class weights."""

    unit: str  # "type" or "tag"
    needs_counts: bool

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]: ...


@runtime_checkable
class Repeats(Protocol):
    """A resampling policy: fitted on corpus counts, it maps a unit's counts to copies."""

    def fit(self, corpus: Any) -> Callable[[SentenceCounts], int]: ...
