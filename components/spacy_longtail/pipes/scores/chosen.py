"""Goals of thresholds, and the records of thresholds.json."""

from typing import NamedTuple

from ...records import PRF, Record
from .thresholds import OperatingPoint, best_f, for_precision, for_recall, for_share

CHOSEN = "thresholds.json"  # in the pipeline's folder
CHOOSERS = {
    "recall": (for_recall, "recall of at least {:g}"),
    "precision": (for_precision, "precision of at least {:g}"),
    "budget": (for_share, "budget of {:.4g} of the sentences"),  # a fraction of all sentences
    "beta": (best_f, "best F{:g}"),
}


class Goal(NamedTuple):
    """Goal of a threshold: one of CHOOSERS, and its value."""

    kind: str = "beta"
    value: float = 1.0

    def choose(self, ways: list[OperatingPoint]) -> OperatingPoint | None:
        """Return the operating point that meets this goal best, or None if none meets it."""
        return CHOOSERS[self.kind][0](ways, self.value)

    def __str__(self) -> str:
        return CHOOSERS[self.kind][1].format(self.value)


class CalibrationError(Record):
    """Expected calibration error of scores."""

    before: float
    after: float  # by curves that were fitted to other documents than those judged


class GatePoint(Record):
    """Precision, recall and flagged sentences of a gate at one threshold."""

    p: float
    r: float
    open: float  # fraction of the sentences that are flagged


class ChosenGate(Record):
    """Threshold or budget of a gate, trained or not."""

    goal: str
    sentences: int  # number of annotated sentences
    rare: int  # number of those with a rare type
    before: GatePoint
    threshold: float | None  # null if the gate has a budget
    curve: list[float] | None = None  # slope and shift of the log odds
    calibration_error: CalibrationError | None = None
    budget: float | None = None
    start: int = 0  # number of sentence scores that the budget starts from
    after: GatePoint


class ChosenType(Record):
    """Threshold of one type, with its scores before and after."""

    mentions: int
    candidates: int
    calibrated: bool  # by its own curve, or by the one of all types with few candidates
    threshold: float | None
    before: PRF
    after: PRF


class ChosenTypes(Record):
    """Thresholds of all types of one NER."""

    goal: str
    types: dict[str, ChosenType]
    calibration_error: CalibrationError | None = None


Chosen = dict[str, ChosenGate | ChosenTypes]  # by component


def chosen_json(chosen: Chosen) -> dict[str, object]:
    """Return the content of thresholds.json."""
    return {name: choice.as_json() for name, choice in chosen.items()}
