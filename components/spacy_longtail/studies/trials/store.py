"""Store of trials: a folder with each finished trial, found again by the key of its content.

The commands `matrix`, `recommend` and `tune` keep their trials in such folders.
"""

import json
import os
import platform
import shutil
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...errors import Warnings
from ...output.console import number
from ...output.writing import coded_io, write_file
from ...training.provenance import json_checksum
from .key import code_version
from .process import is_another_process
from .record import RECORD, TrialRecord, read_record

FOLDER = "trials"
WORK = "work"  # folder of running trials


@dataclass(frozen=True)
class TrialStore:
    """Store of finished trials in an output folder.

    output (Path): The folder, which need not exist.
    """

    output: Path

    def place(self, key: str) -> Path:
        """Return the folder of a finished trial.

        key (str): Content key of the trial.
        """
        return self.output / FOLDER / key

    def records(self) -> dict[str, TrialRecord]:
        """Return the records by content key. Invalid ones are ignored with a warning."""
        records = {}
        for path in sorted((self.output / FOLDER).glob(f"*/{RECORD}")):
            record = read_record(path)
            if record is not None and record.key == path.parent.name:
                records[record.key] = record
            else:
                warnings.warn(Warnings.W097.format(path=path), stacklevel=2)
        return records

    def warn_outdated(self, keys: Collection[str], titles: Collection[str]) -> None:
        """Warn of trials that were run by other versions, so that they are run again.

        keys (Collection[str]): Keys of the trials to run.
        titles (Collection[str]): Titles of the trials to run.
        """
        others = [r for key, r in self.records().items() if key not in keys and r.title in titles]
        if n := sum(record.code != code_version() for record in others):
            warnings.warn(
                Warnings.W208.format(n=number(n, "trial"), path=self.output / FOLDER), stacklevel=3
            )

    def create(self) -> None:
        """Create the folder by which an output folder is recognised when a run is resumed."""
        with coded_io(self.output):
            (self.output / FOLDER).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def working_folder(self, key: str) -> Iterator[Path]:
        """Create an empty folder for a running trial, and delete it afterwards unless it was moved.

        Folders of this trial that killed processes left behind are deleted as well.

        key (str): Content key of the trial.
        YIELDS (Path): The folder.
        """
        prefix = f"{key}-{json_checksum(platform.node())[:6]}-"  # of this machine
        for left in (self.output / WORK).glob(f"{prefix}*"):
            if not is_another_process(int(left.name.removeprefix(prefix))):
                shutil.rmtree(left, ignore_errors=True)
        work = self.output / WORK / f"{prefix}{os.getpid()}"
        try:
            with coded_io(work):
                work.mkdir(parents=True)
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def finish(self, work: Path, record: TrialRecord) -> None:
        """Move the working folder of a trial to its final place, unless it is done already.

        The move is a single rename, so that an interrupted one leaves nothing half-written.

        work (Path): Working folder of the trial.
        record (TrialRecord): Record of the trial.
        """
        target = self.place(record.key)
        write_file(work / RECORD, json.dumps(record.data(), indent=1))
        with coded_io(work):
            target.parent.mkdir(exist_ok=True)
            before = read_record(target / RECORD)
            if before is None or not before.is_done:  # another process may have been faster
                shutil.rmtree(target, ignore_errors=True)  # an earlier failure
                try:
                    os.rename(work, target)
                except OSError:
                    other = read_record(target / RECORD)  # of a process that has just finished the trial
                    if other in (None, before) or (record.is_done and not other.is_done):
                        raise
