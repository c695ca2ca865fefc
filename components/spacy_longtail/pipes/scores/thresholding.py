"""What becomes of a scored entity: its score calibrated, and compared with the threshold of its type."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ...errors import Errors
from ...numerics import sigmoid
from ...settings import finite, unused
from ...types import Block, Overrides
from ..label_checks import check_known
from .spans import ScoredSpan, scored_spans, write_scores
from .thresholds import log_odds

JUDGING: Block = {"thresholds": None, "abstain_key": None}  # settings of the NER factories
# found on development data, and kept in a pipe's cfg: a slope and a shift of the log odds, by type
CALIBRATION = "calibration"
ANY_TYPE = "*"  # the calibration of types too rare for one of their own
# attrs of the group of what falls below its threshold: the name of the pipe that found each span
PIPES = "pipes"


class Thresholding(NamedTuple):
    """What a pipe's cfg says about scores. Null is none."""

    thresholds: Mapping[str, float] | None = None  # by type; types without one keep all
    calibration: Mapping[str, tuple[float, float]] | None = None  # slope, shift; "*" for other types
    abstain_key: str | None = None  # in doc.spans

    @classmethod
    def of(
        cls, cfg: Overrides, labels: Collection[str], who: str, *, is_scored: bool = False
    ) -> "Thresholding":
        """As a pipe's cfg has them now: in a trained pipeline they may have been changed by hand.

        labels (Collection[str]): The pipe's types. is_scored (bool): As for `check_judging`.
        """
        settings = cls(*(cfg.get(name) for name in cls._fields))
        if settings.thresholds is None:
            return settings
        check_known("thresholds", settings.thresholds, labels, who)
        thresholds = _checked(settings.thresholds, cfg["scores_key"], who, is_scored)
        return settings._replace(thresholds=thresholds)


class Judged(NamedTuple):
    kept: list[ScoredSpan]
    abstained: list[ScoredSpan]


def check_judging(
    thresholds: Mapping[str, float] | None,
    abstain_key: str | None,
    scores_key: str | None,
    who: str,
    *,
    spans_key: str | None = None,
    is_scored: bool = False,
) -> Block:
    """The settings of a NER factory about its scores.

    spans_key (Optional[str]): Another key of doc.spans that the pipe uses.
    is_scored (bool): Whether entities are scored without a scores_key, too.
    """
    check_keys(who, spans_key=spans_key, scores_key=scores_key, abstain_key=abstain_key)
    if thresholds is None:
        if abstain_key is not None:
            raise unused("abstain_key", abstain_key, who, "'thresholds'")
        return dict(JUDGING)
    checked = _checked(thresholds, scores_key, who, is_scored)
    return {"thresholds": checked, "abstain_key": abstain_key}


def _checked(
    thresholds: Mapping[str, float], scores_key: str | None, who: str, is_scored: bool
) -> dict[str, float]:
    if scores_key is None and not is_scored:
        raise ValueError(Errors.L251.format(who=who))
    fix = "0 keeps every entity of the type."
    return {
        label: finite(f"thresholds.{label}", value, "a score, 0 to 1", fix, 0.0, 1.0)
        for label, value in thresholds.items()
    }


def check_keys(who: str, **keys: str | None) -> None:
    """Refuse settings of one pipe that name the same key of doc.spans.

    keys (Optional[str]): By setting; null for none.
    """
    for name, key in keys.items():
        if key is not None and list(keys.values()).count(key) > 1:
            rule = f"a key of doc.spans that no other setting of {who} names"
            raise ValueError(Errors.L001.format(name=name, rule=rule, value=key, fix="Rename it."))


def judge(found: Iterable[ScoredSpan], settings: Thresholding) -> Judged:
    """Calibrate scores, of tokens too, and set apart the entities below the threshold of their type."""
    curves, thresholds = settings.calibration or {}, settings.thresholds or {}
    judged = Judged([], [])
    for span in found:
        if curve := curves.get(span.label, curves.get(ANY_TYPE)):
            scores = np.asarray([span.score, *span.token_scores])
            score, *token_scores = sigmoid(curve[0] * log_odds(scores) + curve[1]).tolist()
            span = span._replace(score=score, token_scores=tuple(token_scores))
        is_kept = span.score >= thresholds.get(span.label, 0.0)
        (judged.kept if is_kept else judged.abstained).append(span)
    return judged


def write_abstained(doc: Doc, abstained: list[ScoredSpan], key: str | None, name: str) -> None:
    """Keep what fell below its threshold in doc.spans[key]; null keeps nothing.

    Pipes may share the group: each replaces what it wrote itself, when it saw the document before.

    name (str): The pipe's, kept for each span in attrs["pipes"].
    """
    if key is None:
        return
    pipes = doc.spans[key].attrs.get(PIPES, ()) if key in doc.spans else ()
    before = zip(scored_spans(doc, key), pipes, strict=False)
    rows = [(span, pipe) for span, pipe in before if pipe != name]
    rows = sorted([*rows, *((span, name) for span in abstained)])
    write_scores(doc, key, [span for span, _ in rows])
    doc.spans[key].attrs[PIPES] = [pipe for _, pipe in rows]
