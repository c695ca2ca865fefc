"""`ent._.score`: the score of an entity, wherever a pipe wrote it."""

from functools import partial
from typing import Any

from spacy.tokens import Span

from ...errors import Errors
from ...types import ENTITY_SCORES
from .spans import read_scores

SCORE = "score"  # of Span._


def score_of(span: Span, key: str) -> float | None:
    """The score of a span in doc.spans[key]; null where it has none."""
    scored = read_scores(span.doc, key).get((span.start, span.end, span.label_))
    return None if scored is None else float(scored.score)


def register_score_extension(key: str = ENTITY_SCORES, name: str = SCORE) -> None:
    """Let every span say its score, as `ent._.score`. Nothing happens where that is so already.

    The score is read when it is asked for: of the span of these bounds and this type in doc.spans[key],
    null for one without a score.

    key (str): Key in doc.spans, the `scores_key` of the pipes, or their `abstain_key`.
    name (str): Name of the extension.
    """
    if not Span.has_extension(name):
        Span.set_extension(name, getter=partial(score_of, key=key))
    getter: Any = Span.get_extension(name)[2]
    if getattr(getter, "func", None) is not score_of or getter.keywords != {"key": key}:
        rule, fix = "an extension that spans do not have yet", "Use name = 'entity_score'."
        raise ValueError(Errors.L001.format(name="name", rule=rule, value=name, fix=fix))
