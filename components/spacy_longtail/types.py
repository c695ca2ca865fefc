"""Types and protocols that modules share, and the keys under which pipes store results in a Doc."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from thinc.types import Floats1d, Floats2d

WEAK_SENTENCES = "weak_sentences"  # doc.spans key of the gate: flagged sentences, attrs["scores"]
# doc.spans key of the NER pipes: entities, attrs["scores"], attrs["token_scores"]
ENTITY_SCORES = "entity_scores"

# key in Doc.user_data: by component, its "tags" and the array "p", of shape (n_tokens, n_tags). A
# tagger writes all its tags, and the rows add up to 1. A transition-based NER writes only "B-TYPE":
# the probability that an entity begins there, which is 0 within an entity, so rows add up to less.
# Unlike hooks or attributes, user_data travels with bytes, pickles and processes
TOKEN_PROBABILITIES = "entity_probabilities"

# key in Doc.user_data: the types that a document was annotated with, where corpora with different
# ones train one component: the others are neither right nor wrong there
ANNOTATED_TYPES = "annotated_types"

Overrides = Mapping[str, Any]  # config values by dotted name
Block = dict[str, Any]  # block of a config, or the cfg of a pipe


def blocks(block: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield a block of a config and all blocks below it.

    block (Mapping): A config, or a block of one.
    """
    yield block
    for value in block.values():
        if isinstance(value, Mapping):
            yield from blocks(value)


class SoftTargets(NamedTuple):
    """Tag probabilities of a teacher, for the tags of a student."""

    log_p: Floats2d  # (n_tokens, n_tags), log probabilities; -inf for tags that the teacher has not
    known: Floats1d  # (n_tokens,), 1.0 where there is a teacher, else 0.0


class SentenceCounts(NamedTuple):
    """Counts of a sentence or document, without whitespace. Prefixes are merged."""

    tokens: dict[str, int]  # entity tokens per type
    length: int  # annotated tokens, O included
    mentions: dict[str, int]  # entities per type
    singles: dict[str, int]  # one-token entities per type


@runtime_checkable
class ClassWeights(Protocol):
    """Class weights: computes a weight for each class from the counts."""

    @property
    def unit(self) -> str: ...  # "type" or "tag"

    @property
    def needs_counts(self) -> bool: ...

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]: ...


class TwoTaskState(NamedTuple):
    """State of a two-task loss between batches. Pairs: entity head, begin head."""

    a: tuple[float, float] = (0.0, 0.0)  # running mean score of the positives
    b: tuple[float, float] = (0.0, 0.0)  # running mean score of the negatives
    alpha: tuple[float, float] = (0.0, 0.0)  # dual variable of the margin
    n_updates: int = 0  # training updates so far, counted by the pipe
