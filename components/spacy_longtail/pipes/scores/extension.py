"""`ent._.score`: the score of an entity, wherever a pipe wrote it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from spacy.tokens import Span

from ...errors import Errors
from ...types import ENTITY_SCORES

SCORE = "score"  # of Span._

Given = TypeVar("Given")


@dataclass(frozen=True)
class ScoreOf:
    """The score of a span in doc.spans; null where it has none.

    key (str): Key in doc.spans.
    """

    key: str

    def __call__(self, span: Span) -> float | None:
        group = span.doc.spans.get(self.key, ())
        scores = getattr(group, "attrs", {}).get("scores", ())
        place = (span.start, span.end, span.label)
        for other, score in zip(group, scores, strict=False):
            if (other.start, other.end, other.label) == place and math.isfinite(score):
                return float(score)
        return None


def register_score_extension(key: str = ENTITY_SCORES, name: str = SCORE) -> None:
    """Let every span say its score, as `ent._.score`. Nothing happens where that is so already.

    The score is read when it is asked for: of the span of these bounds and this type in doc.spans[key],
    null for one without a score.

    key (str): Key in doc.spans, the `scores_key` of the pipes, or their `abstain_key`.
    name (str): Name of the extension.
    """
    getter = ScoreOf(key)
    known = Span.get_extension(name)[2] if Span.has_extension(name) else getter
    if known != getter:
        rule, fix = "an extension that spans do not have yet", "Use name = 'entity_score'."
        raise ValueError(Errors.L001.format(name="name", rule=rule, value=name, fix=fix))
    Span.set_extension(name, getter=getter, force=True)


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
