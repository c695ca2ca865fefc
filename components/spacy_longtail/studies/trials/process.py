"""A trial's process: started, watched with a time limit and a log, and ended with its children."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypedDict

from thinc.api import Config
from typing_extensions import NotRequired

from ...output.writing import coded_io
from ...training.startup import imported_code

CHILD = [sys.executable, "-m", "spacy_longtail.studies.trials.child"]
POLL = 0.05  # seconds between looks at a process
SHOWN = 5  # last lines of a log that an error shows

Stop = Callable[[], str | None]  # says why a trial must end, else null


class Task(TypedDict):
    """What a trial's process is told: task.json."""

    corpus: str
    name: str  # what reports call the model
    gpu_id: int
    drawn: bool  # whether the training data is a draw, of which scores by frequency would be wrong
    parts: list[str]  # those to score
    own_code: NotRequired[list[str]]  # files to import before
    moved_to: NotRequired[str]  # the folder's final place, which the recorded command names


class Outcome(NamedTuple):
    status: str  # "done", "failed", "timeout" or "stopped"
    seconds: float
    error: str  # the last lines of the log, or why it was stopped


def launch(work: Path, config: Config, task: Task, minutes: float | None, stop: Stop) -> Outcome:
    """Train and score in a process of its own.

    work (Path): A folder for its files. config (Config): Complete, not interpolated.
    task (Task): What to train on and to score.
    minutes (Optional[float]): Its time limit. stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended.
    """
    with coded_io(work):
        config.to_disk(work / "config.cfg", interpolate=False)
        told = Task(**task, own_code=list(map(str, imported_code())))
        (work / "task.json").write_text(json.dumps(told), encoding="utf8")
    seconds = None if minutes is None else 60 * minutes
    return run_process([*CHILD, str(work)], work / "log.txt", seconds, stop)


def run_process(command: list[str], log: Path, seconds: float | None, stop: Stop) -> Outcome:
    """Run a command to its end, its output in a file.

    command (List[str]): The command. It has a pipe as stdin, which closes when this process dies.
    log (Path): The file. seconds (Optional[float]): Its time limit.
    stop (Callable): Called every moment; a text ends the process and says why.
    RETURNS (Outcome): How it ended.
    """
    start, status, why = time.perf_counter(), "", ""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONIOENCODING": "utf8"},  # whatever console this process has
        )
        try:
            while not status and process.poll() is None:
                if seconds is not None and time.perf_counter() - start > seconds:
                    status, why = "timeout", f"It ran past the limit of {seconds / 60:g} minutes."
                elif (told := stop()) is not None:
                    status, why = "stopped", told
                else:
                    time.sleep(POLL)
        finally:
            _kill(process)
    took, code = time.perf_counter() - start, process.returncode
    if not status and code:
        lines = [x for x in log.read_text(encoding="utf8", errors="replace").splitlines() if x.strip()]
        shown = "\n".join(lines[-SHOWN:]) or f"It ended with exit code {code}, without a message."
        return Outcome("failed", took, shown)
    return Outcome(status or "done", took, why)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started: they are a group."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
