"""The record of a finished trial: what its record.json holds."""

import json
import math
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from ...training.provenance import DEV_SCORE
from .draws import Draw, title_of

RECORD = "record.json"


class Evaluated(BaseModel):
    """An evaluation on dev during the training."""

    step: int
    ents_macro_f: float  # in [0, 1]


class Schedule(BaseModel):
    patience: int  # steps without a better score that ended the training; 0: none did


class TrialRecord(BaseModel):
    """What is kept of a trial, by content key."""

    model_config = ConfigDict(extra="allow", frozen=True)  # of later versions

    key: str
    corpus: str
    method: str
    choices: dict[str, str]  # by axis
    seed: int
    draw: Draw | None
    steps: int
    training: Schedule
    curve: list[Evaluated]  # of one that is done
    code: str  # its version
    status: Literal["done", "failed", "timeout"]
    seconds: float
    error: str
    dev: dict[str, JsonValue] = {}  # scores in [0, 1], of one that is done
    test: dict[str, JsonValue] = {}

    @property
    def title(self) -> str:
        """Corpus, method, draw and seed, for people."""
        return title_of(self.corpus, self.method, self.draw, self.seed)

    @property
    def is_done(self) -> bool:
        """Whether it ended well."""
        return self.status == "done"

    def score(self, part: str, name: str) -> float | None:
        """A score on dev or test, in [0, 1]; null where there is none."""
        found = (self.dev if part == "dev" else self.test).get(name)
        return found if isinstance(found, (int, float)) else None

    def of_type(self, part: str, label: str, name: str = "f") -> float | None:
        """A number of a type on dev or test, F1 in [0, 1] unless another is named; null without one."""
        types = (self.dev if part == "dev" else self.test).get("ents_per_type")
        found = types.get(label) if isinstance(types, dict) else None
        value = found.get(name) if isinstance(found, dict) else None
        return value if isinstance(value, (int, float)) else None

    @property
    def steps_trained(self) -> int:
        """Until its last evaluation; 0 of a training without any."""
        return self.curve[-1].step if self.curve else 0

    @property
    def best_step(self) -> int:
        """Of the evaluation with the best score on dev, the first of equals; 0 without any."""
        return max(self.curve, key=lambda e: e.ents_macro_f).step if self.curve else 0

    @property
    def dev_score(self) -> float | None:
        """Macro F1 on dev as a study can hold it: 0 stands for no number, null for no training."""
        if not self.is_done:
            return None
        score = self.score("dev", DEV_SCORE)
        return score if score is not None and math.isfinite(score) else 0.0

    def data(self) -> dict[str, JsonValue]:
        """As JSON data."""
        return self.model_dump(exclude=set() if self.is_done else {"dev", "test"})

    def write(self, folder: Path) -> None:
        """Write record.json, and wait for the disk. RAISES (OSError): If it cannot be written."""
        with (folder / RECORD).open("w", encoding="utf8") as file:
            json.dump(self.data(), file, indent=1)
            file.flush()
            os.fsync(file.fileno())


def parse_record(data: str | dict[str, JsonValue]) -> TrialRecord | None:
    """A record from JSON, as text or data; null if it is none."""
    try:
        return TrialRecord.model_validate(json.loads(data) if isinstance(data, str) else data)
    except ValueError:
        return None


def read_record(folder: Path) -> TrialRecord | None:
    """The record in a trial's folder; null if somebody has changed it. RAISES (OSError): Without one."""
    return parse_record((folder / RECORD).read_text(encoding="utf8"))
