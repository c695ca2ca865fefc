"""Calibration and a threshold for each type of a NER, chosen on scored candidates."""

import warnings
from collections.abc import Mapping
from typing import NamedTuple, cast

from spacy.language import Language

from ..errors import Warnings
from ..numerics import sigmoid
from ..pipes.scores.thresholding import ANY_TYPE, CALIBRATION
from ..pipes.scores.thresholds import OperatingPoint, points
from .analysis.records import PRF
from .calibration import Scored, ScoredNER, fit_curves
from .chosen import ChosenType
from .goal import Goal

Curves = dict[str, tuple[float, float]]  # slope and shift of log odds by type


class Choice(NamedTuple):
    types: dict[str, ChosenType]
    thresholds: dict[str, float]  # of the types that get one
    curves: Curves
    few: list[str]  # types with too few mentions
    unreachable: list[str]  # types whose goal no threshold reaches


def choose_types(
    by_type: Mapping[str, Scored],
    n_gold: Mapping[str, int],
    goal: Goal,
    calibrate: bool,
    least: int,
) -> Choice:
    """Choose what to do with the scores of each type.

    by_type (Mapping[str, Scored]): Candidates. n_gold (Mapping[str, int]): Gold mentions.
    goal (Goal): Of the thresholds. calibrate (bool): Whether scores are made probabilities first.
    least (int): Gold mentions that a threshold is chosen on.
    """
    curves: Curves = fit_curves(dict(by_type)) if calibrate else {}
    types, thresholds, few, unreachable = {}, {}, [], []
    for label, scored in by_type.items():
        curve = curves.get(label, curves.get(ANY_TYPE))
        slope, shift = curve or (1.0, 0.0)
        ways = points(sigmoid(scored.logits * slope + shift), scored.right, n_gold[label])
        chosen = goal.choose(ways) if n_gold[label] >= least else None
        if n_gold[label] < least:
            few.append(label)
        elif chosen is None:
            unreachable.append(label)
        elif chosen.threshold > 0:
            thresholds[label] = chosen.threshold
        everything = ways[-1] if ways else OperatingPoint(0.0, 0.0, 0.0, 0)
        types[label] = ChosenType(
            mentions=n_gold[label],
            candidates=len(scored.right),
            calibrated=None if curve is None else "own" if label in curves else "other types",
            threshold=thresholds.get(label),
            before=_shown(everything),
            after=_shown(chosen if label in thresholds and chosen else everything),
        )
    return Choice(types, thresholds, curves, few, unreachable)


def warn_of(choice: Choice, name: str, goal: Goal, least: int) -> None:
    """Say which types get no threshold. name (str): Of the component."""
    if choice.few:
        text = Warnings.W084.format(name=name, types=", ".join(choice.few), least=least)
        warnings.warn(text, stacklevel=3)
    if choice.unreachable:
        types = ", ".join(choice.unreachable)
        warnings.warn(Warnings.W083.format(name=name, types=types, goal=goal), stacklevel=3)


def set_types(nlp: Language, name: str, choice: Choice, abstain_key: str | None) -> None:
    """Write thresholds and calibration into a component.

    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold; null keeps the
        component's own, and drops them where it has none.
    """
    pipe = cast(ScoredNER, nlp.get_pipe(name))
    key = pipe.cfg.get("abstain_key") if abstain_key is None else abstain_key
    settings = {
        "thresholds": choice.thresholds or None,
        "abstain_key": key if choice.thresholds else None,
    }
    pipe.cfg.update(settings)
    nlp.get_pipe_config(name).update(settings)
    pipe.cfg[CALIBRATION] = {label: list(curve) for label, curve in choice.curves.items()} or None


def _shown(point: OperatingPoint) -> PRF:
    return PRF(p=point.precision, r=point.recall, f=point.f())
