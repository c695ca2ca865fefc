"""`ent._.score`: the score of an entity, wherever a pipe wrote it."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from spacy.tokens import Span

from ...errors import Errors
from ...types import ENTITY_SCORES
from .spans import TOKEN_SCORES

SCORE = "score"  # of Span._

Given = TypeVar("Given")


@dataclass(frozen=True)
class ScoreOf:
    """The score of a span in doc.spans; null where it has none.

    key (str): Key in doc.spans.
    """

    key: str

    def __call__(self, span: Span) -> float | None:
        if self.key not in span.doc.spans:
            return None
        group = span.doc.spans[self.key]
        is_ordered = TOKEN_SCORES in group.attrs  # only our pipes write them, and in the text's order
        return score_in(group, group.attrs.get("scores", ()), span, is_ordered)


def score_in(
    group: Sequence[Span], scores: Sequence[float], span: Span, is_ordered: bool
) -> float | None:
    """The score of a span in a group; null where it has none.

    group (Sequence[Span]): The spans. scores (Sequence[float]): Of each.
    is_ordered (bool): Whether the spans are in the order of their starts: then few are looked at.
    """
    places: Sequence[int] = range(min(len(group), len(scores)))
    if is_ordered:
        sides = bisect_left, bisect_right
        first, last = (side(places, span.start, key=lambda i: group[i].start) for side in sides)
        places = places[first:last]
    for i in places:
        own = group[i]
        is_it = (own.start, own.end, own.label) == (span.start, span.end, span.label)
        if is_it and math.isfinite(scores[i]):
            return float(scores[i])
    return None


def register_score_extension(key: str = ENTITY_SCORES, name: str = SCORE) -> None:
    """Let every span say its score, as `ent._.score`. Nothing happens where that is so already.

    The score is read when it is asked for: of the span of these bounds and this type in doc.spans[key],
    null for one without a score.

    key (str): Key in doc.spans, the `scores_key` of the pipes, or their `abstain_key`.
    name (str): Name of the extension.
    """
    getter = ScoreOf(key)
    if Span.has_extension(name):
        _, _, own, _ = Span.get_extension(name)
        if own != getter:
            found = f"reads doc.spans[{own.key!r}]" if isinstance(own, ScoreOf) else "is not of ours"
            raise ValueError(Errors.L587.format(name=name, found=found))
        return
    Span.set_extension(name, getter=getter)


def create_score_extension(key: str = ENTITY_SCORES, name: str = SCORE) -> Callable[[Given], Given]:
    """Lets every span say its score as `ent._.score`, from the moment that a pipeline is loaded.

    For [nlp.before_creation], and after_creation and after_pipeline_creation as well.

    key (str): Key in doc.spans, the `scores_key` of the pipes, or their `abstain_key`.
    name (str): Name of the extension.
    RETURNS (Callable): What it is given.
    """

    def register(given: Given) -> Given:
        register_score_extension(key, name)
        return given

    return register
