"""The records of finished trials: a folder each, and a JSON line each. What is written stays."""

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import JsonValue

from ...errors import Errors, Warnings
from ...output.writing import check_folder, coded_io
from .engine import WORK
from .records import RECORD, TrialRecord, parse_record, read_record

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LEDGER = "trials.jsonl"
FOLDER = "trials"
BINARY = getattr(os, "O_BINARY", 0)  # of Windows, which else writes two bytes at the end of a line


def append_line(path: Path, record: Mapping[str, JsonValue]) -> None:
    """Append a record: all of the line, or nothing. Other processes may append to the same file.

    path (Path): The JSONL file. record (Mapping[str, JsonValue]): The record.
    RAISES (ValueError): L432 if it cannot be written; the file is then as it was.
    """
    line = json.dumps(record).encode("utf8") + b"\n"
    with coded_io(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o666)
        try:
            end = os.fstat(file).st_size
            if end and _last_byte(path) != b"\n":  # cut off by a crash
                line = b"\n" + line
            written = 0
            try:
                while written < len(line):
                    written += os.write(file, line[written:])
                os.fsync(file)
            except OSError:
                if os.fstat(file).st_size == end + written:  # nobody has appended since
                    os.ftruncate(file, end)
                raise
        finally:
            os.close(file)


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def read_lines(path: Path) -> list[dict[str, JsonValue]]:
    """The records of a JSONL file. Lines that are none are left out, and warned of."""
    if not path.is_file():
        return []
    found, broken = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and isinstance(record.get("key"), str):
            found.append(record)
        else:
            broken.append(str(number))
    if broken:
        warnings.warn(Warnings.W090.format(path=path, lines=", ".join(broken)), stacklevel=2)
    return found


class Ledger:
    """The finished trials of an output folder.

    A trial is finished once its folder, trials/KEY, is there with record.json in it: that is one rename.
    trials.jsonl has the same records, a line each; what is missing in it is added when it is opened.

    output (Path): The folder. RAISES (ValueError): L432.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = output / LEDGER
        with coded_io(output):
            for name in (FOLDER, WORK):
                (output / name).mkdir(parents=True, exist_ok=True)
        with self._alone():
            lines = {line["key"]: parse_record(line) for line in read_lines(self.path)}
            for record in _records(self.output):
                if _text(lines.get(record.key)) != _text(record):
                    append_line(self.path, record.data())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process adds a record meanwhile, so that none is in the file twice."""
        with coded_io(self.output):
            file = os.open(self.output / WORK / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks: a line may be there twice
                    fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def records(self) -> dict[str, TrialRecord]:
        """By content key."""
        return read_finished(self.output)

    def record(self, key: str) -> TrialRecord | None:
        """The record of a trial, null if it is not finished. RAISES (ValueError): L432."""
        path = self.folder(key) / RECORD
        with coded_io(path):
            return read_record(path.parent) if path.is_file() else None

    def folder(self, key: str) -> Path:
        """Where the files of a finished trial are."""
        return trial_folder(self.output, key)

    def finish(self, work: Path, record: TrialRecord) -> bool:
        """Make a trial's working folder its final one, and append its record.

        work (Path): The folder. record (TrialRecord): What is kept of the trial.
        RETURNS (bool): False if the trial was finished before, by someone else: this run is dropped.
        RAISES (ValueError): L432.
        """
        target = self.folder(record.key)
        with coded_io(work):
            record.write(work)
        with self._alone():
            with coded_io(work):
                before = self.record(record.key)
                if before is not None and before.is_done:
                    return False  # another process was first
                if target.exists():
                    os.replace(target, work / "before")  # a failure, tried again
                os.rename(work, target)
            append_line(self.path, record.data())
        return True


def trial_folder(output: Path, key: str) -> Path:
    """Where the files of a finished trial are. output (Path): The folder. key (str): The trial's."""
    return output / FOLDER / key


def read_finished(output: Path) -> dict[str, TrialRecord]:
    """The records of an output folder by content key; nothing is written, and it need not be there.

    output (Path): The folder. RAISES (ValueError): L432.
    """
    return {record.key: record for record in _records(output)}


def _records(output: Path) -> Iterator[TrialRecord]:
    for path in sorted((output / FOLDER).glob(f"*/{RECORD}")):
        with coded_io(path):
            record = read_record(path.parent)
        if record is not None and record.key == path.parent.name:
            yield record
        else:
            warnings.warn(Warnings.W097.format(path=path), stacklevel=2)


def _text(record: TrialRecord | None) -> str:
    return json.dumps(record and record.data())  # of equal records equal, with NaN in them too


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
