"""Which entities of two recognisers stay where they overlap."""

import math
from collections.abc import Iterable

from spacy.tokens import Doc, Span

from .scores import ScoredSpan, read_scores, write_scores


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
    known = read_scores(doc, scores_key)
    unrated = ScoredSpan(0, 0, "", math.inf, ())
    strong = []
    for ent in doc.ents:
        place = (ent.start, ent.end, ent.label_)
        score = known.get(place, unrated).score if merge == "span" else math.inf
        strong.append(ScoredSpan(*place, score, ()))
    kept = merge_spans([*strong, *weak])
    if not any(span.weak for span in kept):
        return
    untouched = {(ent.start, ent.end, ent.label_): ent for ent in doc.ents}
    ents = [untouched.get(s.place) or Span(doc, s.start, s.end, label=s.label) for s in kept]
    doc.set_ents(ents, default="outside")
    if scores_key is not None:
        rated = [s if s.weak else known.get(s.place, s) for s in kept]
        write_scores(doc, scores_key, [s for s in rated if math.isfinite(s.score)])
