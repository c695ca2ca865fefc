"""Start and supervision of a trial's process: its log, its time limit and its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from thinc.api import Config

from ...output.console import number
from ...output.writing import coded_io
from ...training.startup import imported_code

CHILD = [sys.executable, "-m", "spacy_longtail.studies.trials.child"]
MODEL = "model"  # output folder of the training, in the working folder
POLL = 0.05  # seconds between two checks of a process
MAX_LINES_SHOWN = 5  # last lines of a log that an error shows

Stop = Callable[[], str | None]  # returns why a trial must end, or None


class ChildTask(NamedTuple):
    """Task of a trial's process, stored as JSON."""

    corpus: str  # folder of a converted corpus
    name: str  # of the model in reports
    gpu_id: int  # -1 for the CPU
    is_sample: bool  # whether the training data is a sample, so that scores by frequency would be wrong
    parts: list[str]  # parts to score
    moved_to: str  # final folder of the trial, for the recorded command


class ProcessEnd(NamedTuple):
    """End of a process."""

    status: str  # "done", "failed", "timeout" or "stopped"
    seconds: float
    error: str  # last lines of the log, or the reason why it was stopped


def launch(work: Path, config: Config, task: ChildTask, minutes: float | None, stop: Stop) -> ProcessEnd:
    """Train and score a pipeline in a separate process.

    work (Path): Folder for the files of the process.
    config (Config): Complete config, not interpolated.
    task (ChildTask): Task of the process.
    minutes (Optional[float]): Time limit.
    stop (Callable): Returns why the process must end, or None.
    RETURNS (ProcessEnd): End of the process.
    """
    with coded_io(work):
        config.to_disk(work / "config.cfg", interpolate=False)
        (work / "task.json").write_text(
            json.dumps({"task": task._asdict(), "own_code": list(map(str, imported_code()))}),
            encoding="utf8",
        )
    return run_process([*CHILD, str(work)], work / "log.txt", minutes and 60 * minutes, stop)


def run_process(command: list[str], log: Path, seconds: float | None, stop: Stop) -> ProcessEnd:
    """Run a command to its end, and write its output to a file.

    command (List[str]): The command. Its stdin is a pipe, which closes when this process ends.
    log (Path): File for the output.
    seconds (Optional[float]): Time limit.
    stop (Callable): Called regularly. If it returns a text, the process is ended for this reason.
    RETURNS (ProcessEnd): End of the process.
    """
    start, status, why = time.perf_counter(), "", ""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONIOENCODING": "utf8"},  # so that the log is always UTF-8
        )
        try:
            while not status and process.poll() is None:
                if seconds is not None and time.perf_counter() - start > seconds:
                    limit = number(seconds / 60, "minute")
                    status, why = "timeout", f"It ran past the limit of {limit}."
                elif (told := stop()) is not None:
                    status, why = "stopped", told
                else:
                    time.sleep(POLL)
        finally:
            _kill(process)
    took, code = time.perf_counter() - start, process.returncode
    if not status and code:
        lines = [x for x in log.read_text(encoding="utf8", errors="replace").splitlines() if x.strip()]
        shown = "\n".join(lines[-MAX_LINES_SHOWN:])
        return ProcessEnd("failed", took, shown or f"It ended with exit code {code}, without a message.")
    return ProcessEnd(status or "done", took, why)


def is_another_process(pid: int) -> bool:
    """Return whether another process of this machine has an ID, as far as the system can tell.

    pid (int): ID of a process.
    """
    if pid == os.getpid() or os.name != "posix":  # on Windows, os.kill would end the process
        return pid != os.getpid()
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # it belongs to another user
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, which form a process group."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
