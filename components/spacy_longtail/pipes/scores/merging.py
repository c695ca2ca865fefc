"""Merging of the entities of two components where they overlap."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span
from thinc.types import Ints1d

from ...corpus.examples import trim_whitespace
from ...errors import Errors
from ...types import ENTITY_SCORES
from .spans import ScoredSpan, blocked_tokens, read_scores, write_scores

BY_SCORE = ("span", "token")  # rules that compare the scores of both
BLOCKED = ""  # the type of a token where no entity may stand


def check_merging(merge: str, scores_key: str | None, who: str) -> None:
    """Refuse a rule that compares scores where there are none."""
    if merge in BY_SCORE and scores_key is None:
        raise ValueError(Errors.L207.format(who=who, merge=merge, key=ENTITY_SCORES))


def merge_spans(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Merge spans: accept them by score unless they overlap one that was accepted before.

    Ties go to the secondary, then to the longer span, then to the earlier one.

    spans (Iterable[ScoredSpan]): Spans of both models over one document.
    RETURNS (List[ScoredSpan]): The accepted spans, by position.
    SOURCE: ours (docs/methods.md, "Merging"), instead of Nguyen et al. 2020, eq. 8-9.
    """
    taken: set[int] = set()
    kept = []
    for span in sorted(spans, key=_rank):
        if taken.isdisjoint(tokens := range(span.start, span.end)):
            taken.update(tokens)
            kept.append(span)
    return sorted(kept)


def _rank(span: ScoredSpan) -> tuple[float, bool, int, int]:
    """Return the place of a span in the order of acceptance. One without a score comes last."""
    score = -math.inf if math.isnan(span.score) else span.score
    return -score, not span.is_secondary, span.start - span.end, span.start


class _Tag(NamedTuple):
    token: int
    label: str
    begins: bool
    p: float
    is_secondary: bool


def merge_tokens(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Let the more probable tag win at each token of an entity of either component.

    Any entity tag wins over O. A tag that continues no entity, or another one, begins an entity, so
    that the rest of an entity that lost tokens becomes one or more shorter ones. Tags without a
    probability, which is infinite for them, are not joined with others.

    spans (Iterable[ScoredSpan]): The spans of both recognisers; those of one do not overlap. A span
        without token_scores has its own score at each token.
    RETURNS (List[ScoredSpan]): Entities by position. At equal probability the secondary's tag wins.
        An entity is the secondary's if one of its tokens is. One that lost no token keeps its
        score, others get the mean of their tokens.
    SOURCE: Nguyen, Nguyen & Rao 2020, eq. 8-9.
    """
    best: dict[int, _Tag] = {}
    spans = sorted(spans, key=lambda s: s.is_secondary)  # the secondary last: it wins ties
    for span in spans:
        for at, p in enumerate(span.token_scores or (span.score,) * (span.end - span.start)):
            tag = _Tag(span.start + at, span.label, at == 0, p, span.is_secondary)
            if tag.token not in best or p >= best[tag.token].p:
                best[tag.token] = tag
    entities: list[list[_Tag]] = []
    for tag in sorted(best.values()):
        last = entities[-1][-1] if entities else tag
        # no gap between them; what has no score is not joined with what has one
        is_one = last.label == tag.label and math.isfinite(last.p) == math.isfinite(tag.p)
        if entities and is_one and not tag.begins:
            entities[-1].append(tag)
        else:
            entities.append([tag])
    whole = {(s.place, s.is_secondary): s.score for s in spans}
    return [_joined(tags, whole) for tags in entities]


def _joined(tags: list[_Tag], whole: Mapping[tuple[tuple[int, int, str], bool], float]) -> ScoredSpan:
    p, sources = tuple(tag.p for tag in tags), {tag.is_secondary for tag in tags}
    place = tags[0].token, tags[-1].token + 1, tags[0].label
    is_secondary, mean = True in sources, sum(p) / len(p)
    score = mean if len(sources) == 2 else whole.get((place, is_secondary), mean)
    return ScoredSpan(*place, score, p, is_secondary)


def merge_into(doc: Doc, secondary: list[ScoredSpan], merge: str, key: str | None) -> None:
    """Merge the secondary's entities into doc.ents. A document that gains none stays as it is.

    doc (Doc): Document with the primary's entities. Blocked and unannotated tokens do not change.
    secondary (List[ScoredSpan]): Entities of the secondary.
    merge (str): Rule of merging: "span", "token" or "fill".
    key (Optional[str]): Key in doc.spans of the primary's scores, and of the merged ones. The
        merged group lacks entities without a score: no number is made up.
    """
    if not secondary:
        return
    known = read_scores(doc, key)
    untouched = {(ent.start, ent.end, ent.label_): ent for ent in doc.ents}
    primary = [ScoredSpan(i, i + 1, BLOCKED, math.inf, ()) for i in blocked_tokens(doc)]
    for place in untouched:
        rated = known.get(place, ScoredSpan(*place, math.inf, ()))  # what has no score stays
        primary.append(rated._replace(score=math.inf) if merge == "fill" else rated)
    if merge == "token":
        kept = without_space(merge_tokens([*primary, *secondary]), doc.to_array("IS_SPACE"))
    else:
        kept = merge_spans([*primary, *secondary])
    kept = [span for span in kept if span.label != BLOCKED]
    if not any(span.is_secondary for span in kept):
        return
    ents = [untouched.get(s.place) or Span(doc, s.start, s.end, label=s.label) for s in kept]
    _set_entities(doc, ents)
    if key is not None:
        rated = [s if s.is_secondary else known.get(s.place, s) for s in kept]
        write_scores(doc, key, [s for s in rated if math.isfinite(s.score)])


def remove_from(doc: Doc, removed: Collection[Span], key: str | None) -> None:
    """Remove entities from doc.ents, so that their tokens are O; others stay as they are."""
    if not removed:
        return
    known = read_scores(doc, key)
    places = {(ent.start, ent.end, ent.label_) for ent in removed}
    kept = [ent for ent in doc.ents if (ent.start, ent.end, ent.label_) not in places]
    _set_entities(doc, kept)
    if key is not None:
        write_scores(doc, key, [span for place, span in known.items() if place not in places])


def _set_entities(doc: Doc, ents: list[Span]) -> None:
    """Replace doc.ents; blocked tokens stay so, and free ones without annotation, too."""
    free = doc.to_array("ENT_IOB") == 0
    for ent in ents:
        free[ent.start : ent.end] = False
    edges = np.flatnonzero(np.diff(free, prepend=False, append=False)).tolist()
    missing = [doc[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    blocked = [doc[i : i + 1] for i in blocked_tokens(doc)]
    doc.set_ents(ents, blocked=blocked, missing=missing, default="outside")


def without_space(spans: list[ScoredSpan], is_space: Ints1d) -> list[ScoredSpan]:
    """Return the spans without whitespace at their ends, scored by the mean of the other tokens."""
    bounds = np.array([span.place[:2] for span in spans], dtype="int64").reshape(-1, 2)
    starts, ends = trim_whitespace(bounds[:, 0], bounds[:, 1], is_space)
    trimmed = []
    for span, start, end in zip(spans, starts.tolist(), ends.tolist(), strict=True):
        if (start, end) != span.place[:2]:
            p = span.token_scores[start - span.start : end - span.start]
            score = sum(p) / len(p) if p else span.score
            span = span._replace(start=start, end=end, score=score, token_scores=p)
        if start < end:
            trimmed.append(span)
    return trimmed
