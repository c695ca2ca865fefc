"""What `thresholds` chose, and on what, as it stands in thresholds.json. Scores are in [0, 1]."""

from pathlib import Path

import srsly

from ..pipes.thresholds import Reliability
from ..records import Record
from .analysis.records import PRF

CHOSEN = "thresholds.json"  # in the pipeline


class Measured(Record):
    """How far scores are probabilities."""

    error: float  # expected calibration error
    brier: float
    bins: list[tuple[int, float, float]]  # size, mean score, share right

    @classmethod
    def of(cls, found: Reliability) -> "Measured":
        return cls(**found._asdict())


class Calibrated(Record):
    before: Measured
    after: Measured  # by curves that were fitted without the documents judged


class GatePoint(Record):
    """What the gate does at a threshold."""

    p: float
    r: float
    open: float  # share of the sentences


class ChosenGate(Record):
    goal: str
    sentences: int
    weak: int  # of them
    before: GatePoint
    reliability: Calibrated | None = None
    threshold: float
    curve: list[float] | None  # slope and shift of the log odds
    after: GatePoint


class ChosenType(Record):
    mentions: int
    candidates: int
    calibrated: str | None  # on its "own" candidates or on those of "other types"
    threshold: float | None
    before: PRF
    after: PRF


class ChosenTypes(Record):
    goal: str
    types: dict[str, ChosenType]
    reliability: Calibrated | None = None


Chosen = dict[str, ChosenGate | ChosenTypes]  # by component


def chosen_json(found: Chosen) -> dict[str, object]:
    return {name: own.as_json() for name, own in found.items()}


def write_chosen(found: Chosen, folder: Path) -> None:
    """found (Chosen): What was chosen. folder (Path): Of the pipeline."""
    srsly.write_json(folder / CHOSEN, chosen_json(found))
