"""The finished trials of an output folder: a folder each, with record.json in it."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from ...errors import Errors, Warnings
from ...output.writing import check_folder, coded_io
from .records import RECORD, TrialRecord, read_record

FOLDER = "trials"
WORK = "work"  # folder of trials that are running


def trial_folder(output: Path, key: str) -> Path:
    """Where the files of a finished trial are. output (Path): The folder. key (str): The trial's."""
    return output / FOLDER / key


def read_finished(output: Path) -> dict[str, TrialRecord]:
    """The records of an output folder by content key. Nothing is written, and it need not be there.

    output (Path): The folder. RAISES (ValueError): L432.
    """
    found = {}
    for path in sorted((output / FOLDER).glob(f"*/{RECORD}")):
        with coded_io(path):
            record = read_record(path.parent)
        if record is not None and record.key == path.parent.name:
            found[record.key] = record
        else:
            warnings.warn(Warnings.W097.format(path=path), stacklevel=2)
    return found


def finish(output: Path, work: Path, record: TrialRecord) -> None:
    """Make a trial's working folder its final one: that is one rename. A trial that is done stays.

    output (Path): The folder of results. work (Path): The working folder.
    record (TrialRecord): What is kept of the trial. RAISES (ValueError): L432.
    """
    target = trial_folder(output, record.key)
    with coded_io(work):
        record.write(work)
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            before = read_record(target) if (target / RECORD).is_file() else None
            if before is not None and before.is_done:
                return  # another process was first
            os.replace(target, work / "before")  # a failure, tried again
        os.rename(work, target)


def check_output(output: Path, inputs: Iterable[Path], own: str) -> None:
    """Refuse a folder that is something else, before any work.

    output (Path): The folder, there or not. inputs (Iterable[Path]): What is read.
    own (str): What an earlier run has left in it.
    RAISES (ValueError): L432, L434, L436, L476.
    """
    full = check_folder(output, inputs)
    with coded_io(output):
        if full.is_dir() and any(full.iterdir()) and not (full / own).is_dir():
            raise ValueError(Errors.L476.format(path=output))
