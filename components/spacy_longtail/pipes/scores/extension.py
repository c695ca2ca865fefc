"""`ent._.score`: the score of an entity, wherever a pipe wrote it."""

from functools import partial

from spacy.tokens import Span

from ...types import ENTITY_SCORES
from .spans import read_scores

SCORE = "score"  # of Span._


def score_of(span: Span, key: str) -> float | None:
    """The score of a span in doc.spans[key]; null where it has none."""
    scored = read_scores(span.doc, key).get((span.start, span.end, span.label_))
    return None if scored is None else float(scored.score)


def register_score_extension(key: str = ENTITY_SCORES, name: str = SCORE) -> None:
    """Let every span say its score, as `ent._.score`.

    The score is read when it is asked for, from the span of these bounds and this type in
    doc.spans[key]; null for one without a score.

    key (str): Key in doc.spans, the `scores_key` of the pipes, or their `abstain_key`.
    name (str): Name of the extension.
    """
    known = Span.get_extension(name)[2] if Span.has_extension(name) else None
    is_ours = getattr(known, "func", None) is score_of  # another package's is E090 of spaCy's
    Span.set_extension(name, getter=partial(score_of, key=key), force=is_ours)
