"""Records of finished trials. Each has a folder in the output folder, with record.json in it."""

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
WORK = "work"  # folder of running trials


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
    curve: list[dict[str, int | float]]  # step, and macro F1 on dev in [0, 1]; empty if it failed
    code: str  # version of the code
    status: Literal["done", "failed", "timeout"]
    seconds: float
    error: str
    dev: dict[str, JsonValue] = {}  # scores in [0, 1]; empty if it failed
    test: dict[str, JsonValue] = {}

    @property
    def title(self) -> str:
        """Return corpus, method, sample and seed, for people."""
        return title_of(self.corpus, self.method, self.draw, self.seed)

    @property
    def is_done(self) -> bool:
        """Return whether the trial was trained and scored."""
        return self.status == "done"

    def score(self, part: str, name: str) -> float | None:
        """Return a score on "dev" or "test" in [0, 1], or None if there is no such score."""
        value = (self.dev if part == "dev" else self.test).get(name)
        return value if isinstance(value, (int, float)) else None

    @property
    def steps_trained(self) -> int:
        """Return the steps until the last evaluation, or those of the plan if there was none."""
        return int(self.curve[-1]["step"]) if self.curve else self.steps

    def data(self) -> dict[str, JsonValue]:
        """Return the record as JSON data."""
        return self.model_dump(exclude=set() if self.is_done else {"dev", "test"})


def trial_folder(output: Path, key: str) -> Path:
    """Return the folder of a finished trial.

    output (Path): Folder of the results.
    key (str): Content key of the trial.
    """
    return output / FOLDER / key


def read_finished(output: Path) -> dict[str, TrialRecord]:
    """Read the records of an output folder. Invalid ones are ignored with a warning.

    output (Path): Folder of the results, which need not exist.
    RETURNS (Dict[str, TrialRecord]): Records by content key.
    """
    records = {}
    for path in sorted((output / FOLDER).glob(f"*/{RECORD}")):
        record = _read(path)
        if record is not None and record.key == path.parent.name:
            records[record.key] = record
        else:
            warnings.warn(Warnings.W097.format(path=path), stacklevel=2)
    return records


def _read(path: Path) -> TrialRecord | None:
    """Read a record, or return None if there is none or it is invalid."""
    with coded_io(path):
        text = path.read_bytes() if path.is_file() else b""
    try:
        return TrialRecord.model_validate_json(text)
    except ValueError:
        return None


def finish(output: Path, work: Path, record: TrialRecord) -> None:
    """Move the working folder of a trial to its final place, unless it is done already.

    The move is a single rename, so that an interrupted one leaves nothing half-written.

    output (Path): Folder of the results.
    work (Path): Working folder of the trial.
    record (TrialRecord): Record of the trial.
    """
    target = trial_folder(output, record.key)
    write_file(work / RECORD, json.dumps(record.data(), indent=1))
    with coded_io(work):
        target.parent.mkdir(exist_ok=True)
        before = _read(target / RECORD)
        if before is None or not before.is_done:  # another process may have been faster
            shutil.rmtree(target, ignore_errors=True)  # an earlier failure
            os.rename(work, target)
