"""A trial's process, started: its config and its task written, its log kept, its time limited."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thinc.api import Config

from ...writing import coded_io
from .keys import code_version
from .process import Outcome, run_process

CHILD = [sys.executable, "-m", "spacy_longtail.studies.trials.child"]


def launch(
    work: Path,
    config: Config,
    task: dict[str, Any],
    minutes: float | None,
    stop: Callable[[], str | None],
) -> Outcome:
    """Train and score in a process of its own.

    work (Path): A folder for its files. config (Config): Complete, not interpolated.
    task (Dict[str, Any]): As `run_child` takes it; the code's version is added.
    minutes (Optional[float]): Its time limit. stop (Callable): Tells why it must end, else null.
    RETURNS (Outcome): How it ended. RAISES (ValueError): L432.
    """
    with coded_io(work):
        config.to_disk(work / "config.cfg", interpolate=False)
        (work / "task.json").write_text(json.dumps({**task, "code": code_version()}), encoding="utf8")
    seconds = None if minutes is None else 60 * minutes
    return run_process([*CHILD, str(work)], work / "log.txt", seconds, stop)
