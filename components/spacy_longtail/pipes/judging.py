"""What becomes of a scored entity: its score calibrated, and held against the threshold of its type."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..errors import Errors
from ..operating_points import EDGE
from ..settings import finite
from .scores import ScoredSpan, write_scores

JUDGING: dict[str, Any] = {"thresholds": None, "abstain_key": None}  # settings of the NER factories
# found on development data, and kept in a pipe's cfg: a slope and a shift of the log odds, by type
CALIBRATION = "calibration"
ANY_TYPE = "*"  # the calibration of types too rare for one of their own


class Judged(NamedTuple):
    kept: list[ScoredSpan]
    abstained: list[ScoredSpan]


def check_judging(
    thresholds: Mapping[str, float] | None, abstain_key: str | None, scores_key: str | None, who: str
) -> dict[str, Any]:
    """The settings of a NER factory about its scores.

    RAISES (ValueError): L001; L213 for a key of what no threshold keeps out; L251 without scores.
    """
    if thresholds is None:
        if abstain_key is not None:
            where = "'thresholds'"
            raise ValueError(
                Errors.L213.format(name="abstain_key", value=abstain_key, who=who, where=where)
            )
        return dict(JUDGING)
    if scores_key is None:
        raise ValueError(Errors.L251.format(who=who))
    fix = "0 keeps every entity of the type."
    checked = {
        label: finite(f"thresholds.{label}", value, "a score, 0 to 1", fix, 0.0, 1.0)
        for label, value in thresholds.items()
    }
    return {"thresholds": checked, "abstain_key": abstain_key}


def calibrated(score: float, slope: float, shift: float) -> float:
    """A score whose log odds are scaled and shifted; it stays within (0, 1).

    SOURCE: Platt 1999; with a shift of 0 the temperature 1 / slope of Guo et al. 2017.
    """
    p = min(max(score, EDGE), 1 - EDGE)
    return 1 / (1 + math.exp(-(slope * math.log(p / (1 - p)) + shift)))


def judge(found: Iterable[ScoredSpan], cfg: Mapping[str, Any]) -> Judged:
    """Calibrate scores and part the entities below the threshold of their type from the others.

    cfg (Mapping[str, Any]): The pipe's: thresholds by type (types without one keep all), and calibration
        by type, "*" for the others.
    """
    curves, thresholds = cfg.get(CALIBRATION) or {}, cfg.get("thresholds") or {}
    judged = Judged([], [])
    for span in found:
        curve = curves.get(span.label, curves.get(ANY_TYPE))
        own = span if curve is None else span._replace(score=calibrated(span.score, *curve))
        (judged.kept if own.score >= thresholds.get(own.label, 0.0) else judged.abstained).append(own)
    return judged


def write_abstained(doc: Doc, abstained: list[ScoredSpan], cfg: Mapping[str, Any]) -> None:
    """Keep what fell below its threshold in doc.spans[abstain_key], where the setting asks for it."""
    if cfg.get("abstain_key") is not None:
        write_scores(doc, cfg["abstain_key"], abstained)
