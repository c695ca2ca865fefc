"""Settings of `longtail_posterior_gate`: what they are without a config, which belong together."""

from collections.abc import Collection, Mapping

from ...errors import Errors
from ...settings import finite, one_of, unused
from ...types import ENTITY_SCORES, WEAK_SENTENCES, Block
from ..label_checks import check_types

WHO = "longtail_posterior_gate"

LIMITS: Block = {"threshold": 0.1, "thresholds": None, "min_entity_score": 0.5}

DEFAULTS: Block = {
    "primary": None,
    "signal": "expected",
    **LIMITS,
    "budget": None,
    "spans_key": WEAK_SENTENCES,
    "scores_key": ENTITY_SCORES,
    "scorer": {"@scorers": "longtail.gate_scorer.v1"},
}

READS = {  # settings that have an effect, by signal
    "expected": ("primary", "threshold", "thresholds"),
    "entity_scores": ("scores_key", "min_entity_score"),
}


def check_settings(
    weak_labels: Collection[str], signal: str, budget: float | None, spans_key: str, given: Block
) -> Block:
    """All settings of a gate, numbers as numbers.

    given (Block): primary, threshold, thresholds, min_entity_score and scores_key, as configured.
    """
    one_of("signal", signal, (*READS, "both"))
    thresholds, scores_key = given["thresholds"], given["scores_key"]
    rule, fix = "mentions, 0 or more", "0.1 is usual."
    share, usual = "a score, 0 to 1", "0.5 is usual."
    given = {
        **given,
        "threshold": finite("threshold", given["threshold"], rule, fix, 0.0),
        "thresholds": None if thresholds is None else _check_thresholds(thresholds),
        "min_entity_score": finite(
            "min_entity_score", given["min_entity_score"], share, usual, 0.0, 1.0
        ),
    }
    labels = check_types("weak_labels", weak_labels, WHO)
    if unknown := sorted(set(thresholds or ()) - set(labels)):
        rule = f"of types among weak_labels ({', '.join(labels)})"
        fix = "Name these alone, or add to weak_labels."
        raise ValueError(Errors.L001.format(name="thresholds", rule=rule, value=unknown, fix=fix))
    for other in READS.keys() - {signal} if signal != "both" else ():
        _refuse_unused(given, READS[other], f'signal = "{other}" or "both"')
    if budget is not None:
        _refuse_unused(given, LIMITS, "budget = null")
        budget = check_budget(budget)
    if spans_key == scores_key and signal != "expected":
        raise ValueError(Errors.L257.format(settings="spans_key and scores_key", who=WHO, key=spans_key))
    own = {"weak_labels": labels, "signal": signal, "budget": budget, "spans_key": spans_key}
    return {**own, **given}


def _check_thresholds(thresholds: Mapping[str, float]) -> dict[str, float]:
    fix = "0 flags every sentence."
    return {
        label: finite(f"thresholds.{label}", value, "mentions, 0 or more", fix, 0.0)
        for label, value in thresholds.items()
    }


def _refuse_unused(given: Block, names: Collection[str], where: str) -> None:
    """Whether settings without an effect are as they come."""
    for name in names:
        if given[name] != DEFAULTS[name]:
            raise unused(name, given[name], WHO, where)


def check_budget(value: object) -> float:
    """A share of all sentences."""
    rule, fix = "a share of all sentences, above 0 and at most 1", "0.03 flags at most 3 %."
    share = finite("budget", value, rule, fix, 0.0, 1.0)
    if share == 0:
        raise ValueError(Errors.L280.format(who=WHO))
    return share
