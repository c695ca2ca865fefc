"""Shapes and protocols that modules share, and the names of the Doc attributes that pipes share."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from thinc.types import Floats1d, Floats2d, Ints1d

ENTITY = "ENTITY"  # the one label of a type-less NER
WEAK_SENTENCES = "weak_sentences"  # doc.spans key of the gate: flagged sentences, attrs["scores"]
# doc.spans key of the NER pipes: entities, attrs["scores"], attrs["token_scores"]
ENTITY_SCORES = "entity_scores"

# key in Doc.user_data: the types that a document was annotated with, where corpora with different ones
# train one component: the others are neither right nor wrong there
ANNOTATED_TYPES = "annotated_types"


class LossResult(NamedTuple):
    loss: float  # scalar, in the loss's own unit
    d_logits: Floats2d  # (n_tokens, n_tags), d loss / d logits


class SentenceCounts(NamedTuple):
    """What one sentence (or document) holds. Prefixes are merged, whitespace is not counted."""

    tokens: dict[str, int]  # entity tokens per type
    length: int  # annotated tokens, O included
    mentions: dict[str, int]  # entities per type
    singles: dict[str, int]  # one-token entities per type


@runtime_checkable
class ClassPreset(Protocol):
    """What a loss needs to know of each class, found from class counts: weights, or shares."""

    @property
    def unit(self) -> str: ...  # "type" or "tag"

    @property
    def needs_counts(self) -> bool: ...

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]: ...

    def default(self, resolved: Mapping[str, float]) -> float: ...


class ClassWeights(ClassPreset, Protocol):
    """A preset that turns class counts into class weights."""


@runtime_checkable  # else `loss = null` in a config raises
class TagLoss(Protocol):
    """A loss on token logits: a mean over unmasked tokens with its exact gradient.

    SOURCE: docs/methods.md, "Conventions".
    """

    @property
    def heads(self) -> tuple[str, ...]: ...

    @property
    def preset(self) -> ClassPreset | None: ...

    def training_offset(self) -> Floats1d | None: ...

    def prediction_offset(self) -> Floats1d | None: ...

    def __call__(
        self, logits: Floats2d, gold: Floats2d, mask: Floats1d, lengths: Ints1d | None = None
    ) -> LossResult: ...

    def bind(self, class_values: Floats1d) -> "TagLoss": ...


@runtime_checkable
class GoldLoss(TagLoss, Protocol):
    """A loss that is a function of x, the probability of the acceptable classes, alone.

    What "crf" or "transition" is in `heads` promises; MoM is one if its base is.
    """

    @property
    def log_likelihood(self) -> bool: ...

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]: ...

    def weight(self, q: Floats2d) -> Floats1d | float: ...


class TwoTaskState(NamedTuple):
    """What a two-task loss carries from batch to batch: a pair is of the entity and the begin head."""

    a: tuple[float, float] = (0.0, 0.0)  # running mean score of the positives
    b: tuple[float, float] = (0.0, 0.0)  # running mean score of the negatives
    alpha: tuple[float, float] = (0.0, 0.0)  # dual variable of the margin
    n_updates: int = 0  # training updates so far, counted by the pipe


@runtime_checkable
class TwoTaskLoss(Protocol):
    """A loss on an entity logit and a begin logit per token.

    `scores` and `targets` are (n_tokens, 2), or (n_tokens, 2 + n_tags) for a loss with a tag head.

    SOURCE: docs/methods.md, "Two-task heads".
    """

    activation: str  # "sigmoid" or "none": how a logit becomes a score
    tag_head: bool

    @property
    def heads(self) -> tuple[str, ...]: ...

    def __call__(
        self, scores: Floats2d, targets: Floats2d, mask: Floats1d, state: TwoTaskState
    ) -> tuple[LossResult, TwoTaskState]: ...


@runtime_checkable
class Repeats(Protocol):
    """A resampling policy: fitted on corpus counts, it maps a unit's counts to copies."""

    def fit(self, corpus: Any) -> Callable[[SentenceCounts], float]: ...
