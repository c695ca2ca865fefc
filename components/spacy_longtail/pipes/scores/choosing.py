"""Choice of a threshold for each type of an NER, from its candidates on development data."""

import warnings
from collections.abc import Mapping

from ...errors import Warnings
from ...numerics import sigmoid
from ...records import PRF
from .calibration import Curves, Scored
from .chosen import ChosenType, Goal
from .thresholding import ANY_TYPE
from .thresholds import OperatingPoint, points


def choose_types(
    name: str,
    by_type: Mapping[str, Scored],
    n_gold: Mapping[str, int],
    curves: Curves,
    goal: Goal,
    min_mentions: int,
) -> dict[str, ChosenType]:
    """Choose a threshold for each type of an NER. Warnings name the types without one.

    name (str): Name of the component, for warnings.
    by_type (Mapping[str, Scored]): Candidates of each type.
    n_gold (Mapping[str, int]): Number of gold mentions of each type.
    curves (Curves): Calibration curves.
    goal (Goal): Goal of the thresholds.
    min_mentions (int): Minimum number of gold mentions to choose a threshold.
    RETURNS (Dict[str, ChosenType]): Threshold of each type, with scores before and after.
    """
    types: dict[str, ChosenType] = {}
    few, unreachable = list[str](), list[str]()
    for label, scored in by_type.items():
        curve = curves.get(label, curves.get(ANY_TYPE))
        slope, shift = curve or (1.0, 0.0)
        ways = points(sigmoid(scored.logits * slope + shift), scored.right, n_gold[label])
        everything = ways[-1] if ways else OperatingPoint(0.0, 0.0, 0.0, 0)
        cut = goal.choose(ways) if n_gold[label] >= min_mentions else None
        if cut is None:
            (few if n_gold[label] < min_mentions else unreachable).append(label)
        if cut is None or not cut.threshold:
            cut = everything
        types[label] = ChosenType(
            mentions=n_gold[label],
            candidates=len(scored.right),
            calibrated=curve is not None,
            threshold=cut.threshold or None,
            before=_prf(everything),
            after=_prf(cut),
        )
    problem = f"a choice needs at least {min_mentions} mentions"
    for labels, why in ((few, problem), (unreachable, f"no threshold reaches a {goal}")):
        if labels:
            warn_kept(name, f"every entity of {', '.join(labels)}", why)
    return types


def _prf(point: OperatingPoint) -> PRF:
    return PRF(p=point.precision, r=point.recall, f=point.f())


def warn_kept(name: str, keeps: str, problem: str) -> None:
    """Warn that a component keeps its settings (W082).

    name (str): Name of the component.
    keeps (str): Part that it keeps, such as "its settings".
    problem (str): Why nothing better can be chosen.
    """
    warnings.warn(Warnings.W082.format(name=name, keeps=keeps, problem=problem), stacklevel=4)
