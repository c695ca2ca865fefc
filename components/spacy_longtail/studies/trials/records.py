"""The finished trials of an output folder: a folder each, with record.json in it."""

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from ...errors import Warnings
from ...output.writing import coded_io, write_file
from .plan import Draw, title_of

RECORD = "record.json"
FOLDER = "trials"
WORK = "work"  # folder of trials that are running


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
    training: dict[str, int]  # patience: steps without a better score that ended it; 0: none did
    curve: list[dict[str, int | float]]  # step, and macro F1 on dev in [0, 1], of one that is done
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
        return self.status == "done"

    def score(self, part: str, name: str) -> float | None:
        """A score on dev or test, in [0, 1]; null where there is none."""
        value = (self.dev if part == "dev" else self.test).get(name)
        return value if isinstance(value, (int, float)) else None

    @property
    def steps_trained(self) -> int:
        """Until its last evaluation; of a training without any, those of its plan."""
        return int(self.curve[-1]["step"]) if self.curve else self.steps

    def data(self) -> dict[str, JsonValue]:
        """As JSON data."""
        return self.model_dump(exclude=set() if self.is_done else {"dev", "test"})


def trial_folder(output: Path, key: str) -> Path:
    """Where a finished trial's files are. output (Path): The folder. key (str): The trial's."""
    return output / FOLDER / key


def read_finished(output: Path) -> dict[str, TrialRecord]:
    """The records of an output folder by content key. output (Path): It need not be there."""
    records = {}
    for path in sorted((output / FOLDER).glob(f"*/{RECORD}")):
        record = _read(path)
        if record is not None and record.key == path.parent.name:
            records[record.key] = record
        else:
            warnings.warn(Warnings.W097.format(path=path), stacklevel=2)
    return records


def _read(path: Path) -> TrialRecord | None:
    """A record; null if somebody has changed it, or there is none."""
    with coded_io(path):
        text = path.read_bytes() if path.is_file() else b""
    try:
        return TrialRecord.model_validate_json(text)
    except ValueError:
        return None


def finish(output: Path, work: Path, record: TrialRecord) -> None:
    """Make a trial's working folder its final one: that is one rename. A trial that is done stays.

    output (Path): The folder of results. work (Path): The working folder.
    record (TrialRecord): What is kept of the trial.
    """
    target = trial_folder(output, record.key)
    write_file(work / RECORD, json.dumps(record.data(), indent=1))
    with coded_io(work):
        target.parent.mkdir(exist_ok=True)
        before = _read(target / RECORD)
        if before is None or not before.is_done:  # else another process was first
            shutil.rmtree(target, ignore_errors=True)  # a failure, tried again
            os.rename(work, target)
