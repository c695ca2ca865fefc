"""Entities with scores: how components write and read them."""

import math
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup

from ...types import ENTITY_SCORES

TOKEN_SCORES = "token_scores"  # of the attrs of a group


class ScoredSpan(NamedTuple):
    """An entity of one document, with the score that its component gives it."""

    start: int  # first token
    end: int  # one past the last token
    label: str
    score: float  # inf: no other entity may replace it; nan: its component gives no scores
    token_scores: tuple[float, ...]  # the probability of each token's tag
    is_secondary: bool = False  # whether the secondary found it

    @property
    def place(self) -> tuple[int, int, str]:
        """Return the tokens and the type."""
        return self.start, self.end, self.label


def write_scores(doc: Doc, key: str, spans: Iterable[ScoredSpan]) -> None:
    """Write spans to doc.spans[key] in the order of the text, with their scores in its attrs.

    attrs["scores"] has a number for each span, attrs["token_scores"] a list of them.
    """
    spans = sorted(spans)
    group = SpanGroup(doc, name=key, spans=[Span(doc, s.start, s.end, label=s.label) for s in spans])
    group.attrs["scores"] = [float(s.score) for s in spans]
    group.attrs[TOKEN_SCORES] = [[float(p) for p in s.token_scores] for s in spans]
    doc.spans[key] = group


def scored_spans(doc: Doc, key: str | None) -> list[ScoredSpan]:
    """Return the spans that `write_scores` wrote, if there are any."""
    if key is None or key not in doc.spans:
        return []
    group = doc.spans[key]
    token_scores = group.attrs.get(TOKEN_SCORES, [()] * len(group))  # others may write scores alone
    rows = zip(group, group.attrs.get("scores", ()), token_scores, strict=False)
    return [ScoredSpan(s.start, s.end, s.label_, score, tuple(tokens)) for s, score, tokens in rows]


def read_scores(doc: Doc, key: str | None) -> dict[tuple[int, int, str], ScoredSpan]:
    """Return the spans with a finite score that `write_scores` wrote, by place."""
    return {s.place: s for s in scored_spans(doc, key) if math.isfinite(s.score)}


def write_entities(doc: Doc, spans: Iterable[ScoredSpan], key: str | None) -> None:
    """Add entities to those of doc.ents, and keep blocked tokens blocked."""
    spans = list(spans)
    new = [Span(doc, s.start, s.end, label=s.label) for s in spans]
    blocked = [doc[i : i + 1] for i in blocked_tokens(doc)]
    doc.set_ents([*new, *doc.ents], blocked=blocked, default="outside")
    if key is not None:
        add_scores(doc, key, spans)


def add_scores(doc: Doc, key: str, spans: Iterable[ScoredSpan]) -> None:
    """Write the scores of doc.ents: those of new entities, and those that others had."""
    rated = {**read_scores(doc, key), **{s.place: s for s in spans}}
    places = ((ent.start, ent.end, ent.label_) for ent in doc.ents)
    write_scores(doc, key, [rated[place] for place in places if place in rated])


def blocked_tokens(doc: Doc) -> list[int]:
    """Return the tokens that `doc.set_ents(..., blocked=...)` has blocked for entities."""
    iob, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).T
    return np.flatnonzero((iob == 3) & (types == 0)).tolist()


def score_of(span: Span, key: str) -> float | None:
    """Return the score of a span in doc.spans[key]; None if it has none."""
    scored = read_scores(span.doc, key).get((span.start, span.end, span.label_))
    return None if scored is None else float(scored.score)


def register_score_extension(key: str = ENTITY_SCORES, name: str = "score") -> None:
    """Register an extension of spans that returns their scores, as `ent._.score`.

    The score is looked up at each access, from the span in doc.spans[key] with the same boundaries
    and type. It is None for a span without a score.

    key (str): Key in doc.spans: the `scores_key` or the `abstain_key` of the pipes.
    name (str): Name of the extension.
    """
    known = Span.get_extension(name)[2] if Span.has_extension(name) else None
    is_ours = getattr(known, "func", None) is score_of  # another package's is E090 of spaCy's
    Span.set_extension(name, getter=partial(score_of, key=key), force=is_ours)
