"""Thresholds and calibration of scores: checks the settings, and applies them to entities."""

from collections.abc import Iterable, Mapping

import numpy as np
from spacy.tokens import Doc

from ...errors import Errors
from ...settings import finite, unused
from ...types import Block, Overrides
from .spans import ScoredSpan, scored_spans, write_entities, write_scores
from .thresholds import calibrated, log_odds

# found on development data, and kept in a pipe's cfg: a slope and a shift of the log odds, by type
CALIBRATION = "calibration"
ANY_TYPE = "*"  # the calibration of types too rare for one of their own
# key of a span group's attrs: for each span, the name of the component that wrote it
PIPES = "pipes"


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


def write_judged(
    docs: Iterable[Doc], found: Iterable[list[ScoredSpan]], cfg: Overrides, name: str
) -> None:
    """Add the entities of each document that pass their thresholds, and their scores.

    docs (Iterable[Doc]): Documents.
    found (Iterable[List[ScoredSpan]]): The entities of each document.
    cfg (Mapping[str, Any]): Settings of the component: without a scores_key no scores are written.
    name (str): Name of the component.
    """
    for doc, spans in zip(docs, found, strict=True):
        write_entities(doc, judge(doc, spans, cfg, name), cfg["scores_key"])
