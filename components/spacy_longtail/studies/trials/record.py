"""Record of a finished trial, stored as JSON in the folder of the trial."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from ...output.writing import coded_io
from ...training.provenance import DEV_SCORE
from .trial import Draw, title_of

RECORD = "record.json"
SCORED = ("dev", "test")  # parts that can be scored


class TrialRecord(BaseModel):
    """Record of a finished trial."""

    model_config = ConfigDict(extra="allow", frozen=True)  # later versions may add fields

    key: str
    corpus: str
    method: str
    choices: dict[str, str]  # by axis
    seed: int
    draw: Draw | None
    steps: int
    training: dict[str, int]  # patience: steps without improvement that end a training, or 0
    curve: list[dict[str, int | float]]  # step, and macro F1 on dev in [0, 1]
    code: str  # `code_version` of key.py
    status: Literal["done", "failed", "timeout", "pruned"]
    seconds: float
    time_limit: float | None = None  # minutes; null if it had none, or in records of early versions
    error: str
    dev: dict[str, JsonValue] = {}  # scores in [0, 1]; empty if it is not done
    test: dict[str, JsonValue] = {}

    @property
    def title(self) -> str:
        """Return corpus, method, sample and seed, for people."""
        return title_of(self.corpus, self.method, self.draw, self.seed)

    @property
    def reason(self) -> str:
        """Return why the trial failed, without a full stop."""
        return (self.error or self.status).strip().rstrip(".")

    @property
    def is_done(self) -> bool:
        """Return whether the trial was trained and scored."""
        return self.status == "done"

    def score(self, part: str, name: str = DEV_SCORE) -> float | None:
        """Return a score of the trial.

        part (str): "dev" or "test".
        name (str): Name of the score.
        RETURNS (Optional[float]): The score in [0, 1], or None if there is no such score.
        """
        value = (self.dev if part == "dev" else self.test).get(name)
        return value if isinstance(value, (int, float)) else None

    @property
    def ending(self) -> tuple[list[dict[str, int | float]], int]:
        """Return curve and patience of the training, by which `rising_of` judges its length."""
        return self.curve, self.training.get("patience", 0)

    @property
    def steps_trained(self) -> int:
        """Return the steps until the last evaluation, or those of the plan if there was none."""
        return int(self.curve[-1]["step"]) if self.curve else self.steps

    def data(self) -> dict[str, JsonValue]:
        """Return the record as JSON data."""
        return self.model_dump(exclude=set() if self.is_done else set(SCORED))


def read_record(path: Path) -> TrialRecord | None:
    """Read the record of a trial.

    path (Path): File of the record.
    RETURNS (Optional[TrialRecord]): The record, or None if there is none or it is invalid.
    RAISES (ValueError): If the file exists and cannot be read (L432).
    """
    with coded_io(path):
        text = path.read_bytes() if path.is_file() else b""
    try:
        return TrialRecord.model_validate_json(text)
    except ValueError:
        return None
