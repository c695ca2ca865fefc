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

from ...errors import Errors
from ...output.writing import coded_io
from ...training.own_code import imported_code
from .keys import CorpusVersion

CHILD = [sys.executable, "-m", "spacy_longtail.studies.trials.child"]
POLL = 0.05  # seconds between looks at a process
SHOWN = 5  # last lines of a log that an error shows
IO_FAULT = 74  # exit code of a trial that the disk has failed, as in sysexits.h


class Task(TypedDict):
    """What a trial's process is told: task.json."""

    corpus: str
    name: str  # what reports call the model
    gpu_id: int
    drawn: bool  # whether the training data is a draw, of which scores by frequency would be wrong
    parts: NotRequired[list[str]]  # those to score, else dev and test
    version: CorpusVersion
    code: str  # its version
    own_code: NotRequired[list[str]]  # files to import before


class Outcome(NamedTuple):
    status: str  # "done", "failed", "timeout" or "stopped"
    seconds: float
    error: str  # the last lines of the log, or why it was stopped


def launch(
    work: Path, config: Config, task: Task, minutes: float | None, stop: Callable[[], str | None]
) -> Outcome:
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


def run_process(
    command: list[str], log: Path, seconds: float | None, stop: Callable[[], str | None]
) -> Outcome:
    """Run a command to its end, its output in a file.

    command (List[str]): The command. It has a pipe as stdin, which closes when this process dies.
    log (Path): The file. seconds (Optional[float]): Its time limit.
    stop (Callable): Called every moment; a text ends the process and says why.
    RETURNS (Outcome): How it ended. A disk that fails it is an error: other trials would meet it, too.
    """
    start = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status, why = _watch(process, start, seconds, stop)
        finally:
            _kill(process)
    took = time.perf_counter() - start
    status = status or ("failed" if process.returncode else "done")
    if process.returncode == IO_FAULT:
        raise ValueError(_refusal(log))
    if status == "failed":
        why = _last_lines(log) or f"It ended with exit code {process.returncode}, without a message."
    return Outcome(status, took, why)


def _watch(
    process: subprocess.Popen[bytes], start: float, seconds: float | None, stop: Callable[[], str | None]
) -> tuple[str, str]:
    """Why it has to end: a status and a text; "" if it has ended."""
    while not _has_ended(process):
        if seconds is not None and time.perf_counter() - start > seconds:
            return "timeout", f"It ran past the limit of {seconds / 60:g} minutes."
        if (why := stop()) is not None:
            return "stopped", why
        time.sleep(POLL)
    return "", ""


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Where the system allows it, what has ended is not reaped yet: its number stays its group's."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    return process.poll() is not None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and its group, unless it was reaped: then another one may have its number."""
    if process.returncode is None:
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdin:
        process.stdin.close()


def _refusal(log: Path) -> str:
    """What could not be read or written, in the last line of the log if that could be written."""
    said = _last_lines(log).rpartition("\n")[2]
    if (begin := said.find("[L432]")) >= 0:  # what could not be written may stand before it
        return said[begin:]
    return Errors.L432.format(path=log.parent, problem=said or "the trial could not write there")


def _last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf8", errors="replace").splitlines()
    return "\n".join([line for line in lines if line.strip()][-SHOWN:])
