"""A journal file that a crash or a full disk cannot spoil. Needs Optuna: imported where it is used."""

import json
import os
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

GRACE = 30  # seconds until a lock is broken, whose holder must be dead


class WholeLines(JournalFileBackend):
    """Optuna's journal file, whose lines are written whole or not at all.

    Optuna itself would write on behind a line that was cut off, and could read nothing from there on. It
    would also wait for the disk after each line. What is finished is known from the records, so a
    journal that loses its end with the power is no harm.

    path (Path): The file, made if it is not there.
    RAISES (ValueError): If its last line is none of a journal: Optuna would find that later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = JournalFileOpenLock(str(path), GRACE)
        super().__init__(str(path), self._writing)
        with path.open("rb") as file:
            if end := _end_of_lines(file):
                file.seek(0)
                json.loads(file.read(end).splitlines()[-1])

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs).encode("utf8")
        self._writing.acquire()
        try:
            with self._path.open("r+b", buffering=0) as file:
                end = _end_of_lines(file)
                file.truncate(end)  # whoever was writing there has died: the lock is ours
                file.seek(end)
                try:
                    written = 0
                    while written < len(lines):
                        written += file.write(lines[written:])
                except OSError:
                    file.truncate(end)
                    raise
        finally:
            self._writing.release()


def _end_of_lines(file: Any) -> int:
    """Where the last whole line of a file ends, in bytes."""
    end = int(file.seek(0, os.SEEK_END))
    if not end:
        return 0
    file.seek(end - 1)
    if file.read(1) == b"\n":
        return end
    file.seek(0)
    return int(file.read(end).rfind(b"\n")) + 1
