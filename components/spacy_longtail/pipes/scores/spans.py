"""Entities with scores: how components judge, write and read them."""

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup

from ...errors import Errors
from ...settings import finite, unused
from ...types import ENTITY_SCORES, Block, Overrides
from .thresholds import calibrated, log_odds

TOKEN_SCORES = "token_scores"  # of the attrs of a group
# found on development data, and kept in a pipe's cfg: a slope and a shift of the log odds, by type
CALIBRATION = "calibration"
ANY_TYPE = "*"  # the calibration of types too rare for one of their own
# attrs of the group of what falls below its threshold: the name of the pipe that found each span
PIPES = "pipes"


class ScoredSpan(NamedTuple):
    start: int  # first token
    end: int  # one past the last token
    label: str
    score: float  # mean probability of the tags; inf for an entity nobody may replace
    token_scores: tuple[float, ...]  # the probability of each token's tag
    is_secondary: bool = False  # whether the secondary found it

    @property
    def place(self) -> tuple[int, int, str]:
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


def check_judging(
    thresholds: Mapping[str, float] | None,
    abstain_key: str | None,
    scores_key: str | None,
    who: str,
    *,
    spans_key: str | None = None,
    is_scored: bool = False,
) -> Block:
    """Check the settings of an NER about its scores, and return them.

    thresholds (Optional[Mapping[str, float]]): Minimum score of an entity by type.
    abstain_key, scores_key, spans_key (Optional[str]): Keys in doc.spans.
    who (str): Name of the factory, for messages.
    is_scored (bool): Whether entities have scores even without a scores_key.
    RETURNS (Dict[str, Any]): The settings for `cfg`.
    RAISES (ValueError): If a setting is invalid or would be ignored.
    """
    check_keys(who, spans_key=spans_key, scores_key=scores_key, abstain_key=abstain_key)
    if thresholds is None:
        if abstain_key is not None:
            raise unused("abstain_key", abstain_key, who, "'thresholds'")
    elif scores_key is None and not is_scored:
        raise ValueError(Errors.L251.format(who=who))
    else:
        fix = "0 keeps every entity of the type."
        thresholds = {
            label: finite(f"thresholds.{label}", minimum, "a score, 0 to 1", fix, low=0.0, high=1.0)
            for label, minimum in thresholds.items()
        }
    return {"scores_key": scores_key, "thresholds": thresholds, "abstain_key": abstain_key}


def check_keys(who: str, **keys: str | None) -> None:
    """Refuse settings of one component that name the same key of doc.spans."""
    for name, key in keys.items():
        if key is not None and list(keys.values()).count(key) > 1:
            rule = f"a key of doc.spans that no other setting of {who} names"
            raise ValueError(Errors.L001.format(name=name, rule=rule, value=key, fix="Rename it."))


def judge(doc: Doc, spans: Iterable[ScoredSpan], cfg: Overrides, name: str) -> list[ScoredSpan]:
    """Calibrate the scores of entities and their tokens, and drop entities below their threshold.

    Dropped entities are written to doc.spans[abstain_key] if it is set. Several components may
    share this group: each one replaces only what it wrote itself before.
    """
    curves, thresholds = cfg.get(CALIBRATION) or {}, cfg.get("thresholds") or {}
    kept, rows = [], []
    for span in spans:
        if curve := curves.get(span.label, curves.get(ANY_TYPE)):
            scores = np.asarray([span.score, *span.token_scores])
            score, *token_scores = calibrated(log_odds(scores), curve).tolist()
            span = span._replace(score=score, token_scores=tuple(token_scores))
        if span.score >= thresholds.get(span.label, 0.0):
            kept.append(span)
        else:
            rows.append((span, name))
    if key := cfg.get("abstain_key"):
        pipes = doc.spans[key].attrs.get(PIPES, ()) if key in doc.spans else ()
        before = zip(scored_spans(doc, key), pipes, strict=False)
        rows = sorted([*rows, *((span, pipe) for span, pipe in before if pipe != name)])
        write_scores(doc, key, [span for span, _ in rows])
        doc.spans[key].attrs[PIPES] = [pipe for _, pipe in rows]
    return kept


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
