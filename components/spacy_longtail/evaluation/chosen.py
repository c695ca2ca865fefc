"""What thresholds are chosen for, and what was chosen, as it stands in thresholds.json."""

from typing import NamedTuple

from ..pipes.scores.thresholds import OperatingPoint, best_f, for_precision, for_recall, for_share
from ..records import Record
from .records import PRF

CHOSEN = "thresholds.json"  # in the pipeline
CHOOSERS = {
    "recall": (for_recall, "recall of at least {:g}"),
    "precision": (for_precision, "precision of at least {:g}"),
    "budget": (for_share, "budget of {:.4g} of the sentences"),  # a share of all
    "beta": (best_f, "best F{:g}"),
}


class Goal(NamedTuple):
    """What a threshold is chosen for: one of CHOOSERS, and its value."""

    kind: str = "beta"
    value: float = 1.0

    def choose(self, ways: list[OperatingPoint]) -> OperatingPoint | None:
        return CHOOSERS[self.kind][0](ways, self.value)

    def __str__(self) -> str:
        return CHOOSERS[self.kind][1].format(self.value)


class CalibrationError(Record):
    """Expected calibration error of scores."""

    before: float
    after: float  # by curves that were fitted without the documents judged


class GatePoint(Record):
    """What the gate does at a threshold."""

    p: float
    r: float
    open: float  # share of the sentences


class ChosenGate(Record):
    """Of a gate, with weights or without."""

    goal: str
    sentences: int  # with annotation
    weak: int  # of them
    before: GatePoint
    threshold: float | None  # null beside a budget
    curve: list[float] | None = None  # slope and shift of the log odds
    calibration_error: CalibrationError | None = None
    budget: float | None = None
    start: int = 0  # sentences whose scores the budget starts from
    after: GatePoint


class ChosenType(Record):
    mentions: int
    candidates: int
    calibrated: bool  # on its own candidates, or on those of all types with too few
    threshold: float | None
    before: PRF
    after: PRF


class ChosenTypes(Record):
    goal: str
    types: dict[str, ChosenType]
    calibration_error: CalibrationError | None = None


Chosen = dict[str, ChosenGate | ChosenTypes]  # by component


def chosen_json(chosen: Chosen) -> dict[str, object]:
    return {name: choice.as_json() for name, choice in chosen.items()}
