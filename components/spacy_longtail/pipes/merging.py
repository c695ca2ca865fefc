"""Which entities of two recognisers stay where they overlap."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from spacy.tokens import Doc, Span, SpanGroup


class ScoredSpan(NamedTuple):
    start: int  # first token
    end: int  # one past the last token
    label: str
    score: float  # mean tag probability; inf for an entity nobody may replace
    weak: bool  # from the secondary


def merge_spans(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Accept spans by score, best first, where they overlap nothing accepted before.

    spans (Iterable[ScoredSpan]): The spans of both recognisers.
    RETURNS (List[ScoredSpan]): What stays, by position. Ties go to the secondary, then to the longer
        span, then to the earlier one.
    SOURCE: ours (METHODS section 8), in place of the token rule of Nguyen et al. 2020, eq. 8-9.
    """
    taken: set[int] = set()
    kept = []
    ranked = sorted(spans, key=lambda s: (-s.score, not s.weak, s.start - s.end, s.start))
    for span in ranked:
        tokens = range(span.start, span.end)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(span)
    return sorted(kept)


def merge_into(doc: Doc, weak: list[ScoredSpan], merge: str, scores_key: str | None) -> None:
    """Merge the secondary's entities into doc.ents. A document that gains none stays as it is.

    doc (Doc): With the primary's entities.
    weak (List[ScoredSpan]): The secondary's.
    merge (str): "span" compares scores, and keeps what has none; "fill" keeps all of the primary's.
    scores_key (Optional[str]): Key in doc.spans of the primary's scores, and of the merged ones. A
        primary entity without a score is not in the merged group: no number is made up.
    """
    known = _read_scores(doc, scores_key)
    strong = []
    for ent in doc.ents:
        place = (ent.start, ent.end, ent.label_)
        score = known.get(place, math.inf) if merge == "span" else math.inf
        strong.append(ScoredSpan(*place, score, False))
    kept = merge_spans([*strong, *weak])
    if not any(span.weak for span in kept):
        return
    untouched = {(ent.start, ent.end, ent.label_): ent for ent in doc.ents}
    ents = []
    for s in kept:
        ents.append(untouched.get((s.start, s.end, s.label)) or Span(doc, s.start, s.end, label=s.label))
    doc.set_ents(ents, default="outside")
    if scores_key is not None:
        scored = [(s, known.get((s.start, s.end, s.label), s.score)) for s in kept]
        rated = [(s, score) for s, score in scored if math.isfinite(score)]
        spans = [Span(doc, s.start, s.end, label=s.label) for s, _ in rated]
        group = SpanGroup(doc, name=scores_key, spans=spans)
        group.attrs["scores"] = [float(score) for _, score in rated]
        doc.spans[scores_key] = group


def _read_scores(doc: Doc, scores_key: str | None) -> dict[tuple[int, int, str], float]:
    if scores_key is None or scores_key not in doc.spans:
        return {}
    group = doc.spans[scores_key]
    places = [(span.start, span.end, span.label_) for span in group]
    return dict(zip(places, group.attrs.get("scores", ()), strict=False))
