"""What `thresholds` chose, and on what, as it stands in thresholds.json. Scores are in [0, 1]."""

from pathlib import Path

import numpy as np
import srsly

from ..pipes.scores.thresholds import Reliability
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

    @classmethod
    def of(cls, opened: np.ndarray, right: np.ndarray) -> "GatePoint":
        """opened, right (ndarray): (n_sentences,), whether each is flagged, and holds a rare type."""
        hits = float((opened & right).sum())
        return cls(
            p=hits / max(int(opened.sum()), 1),
            r=hits / max(int(right.sum()), 1),
            open=float(opened.mean()) if len(opened) else 0.0,
        )


class ChosenGate(Record):
    goal: str
    sentences: int
    weak: int  # of them
    before: GatePoint
    reliability: Calibrated | None = None
    threshold: float
    curve: list[float] | None  # slope and shift of the log odds
    after: GatePoint


class ChosenPosteriorGate(Record):
    """Of a gate without weights. Null is what does not apply: the threshold, or the budget."""

    goal: str
    sentences: int  # with annotation
    weak: int  # of them
    before: GatePoint
    threshold: float | None  # expected mentions of a rare type
    budget: float | None
    start: int  # sentences whose scores the budget starts from
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

    def measured(self, found: Calibrated) -> "ChosenTypes":
        """The same with how far scores are probabilities."""
        return self.model_copy(update={"reliability": found})


Chosen = dict[str, ChosenGate | ChosenPosteriorGate | ChosenTypes]  # by component


def chosen_json(found: Chosen) -> dict[str, object]:
    return {name: own.as_json() for name, own in found.items()}


def write_chosen(found: Chosen, folder: Path) -> None:
    """found (Chosen): What was chosen. folder (Path): Of the pipeline."""
    srsly.write_json(folder / CHOSEN, chosen_json(found))
