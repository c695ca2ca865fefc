"""Run of one trial: starts its process, reads its learning curve, and stores its record."""

import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ...output.writing import STOPPED, coded_io, in_progress
from ...training.provenance import BEST, CURVE_FILE, DEV_SCORE, RUN_FILE, read_curve, short_path
from .key import code_version
from .process import MODEL, ChildTask, ProcessEnd, Stop, launch
from .record import SCORED, TrialRecord
from .store import TrialStore
from .trial import Trial

TrialRunner = Callable[[Trial, Path, Stop], ProcessEnd]


class TrialStoppedError(Exception):
    """Stop of a trial before its end, because the run was interrupted or another trial failed."""


def run_trial(
    trial: Trial,
    work: Path,
    stop: Stop,
    *,
    parts: Sequence[str] = SCORED,
    target: Path,
    gpu_id: int = -1,
    minutes: float | None = None,
) -> ProcessEnd:
    """Train and score a trial in a separate process.

    trial (Trial): The trial.
    work (Path): Empty folder for its files.
    stop (Callable): Returns why the trial must end, or None.
    parts (Sequence[str]): Parts to score: dev, test.
    target (Path): Folder to which the files are moved afterwards.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    minutes (Optional[float]): Time limit.
    RETURNS (ProcessEnd): End of the process.
    """
    task = ChildTask(
        corpus=str(trial.corpus),
        name=trial.method.name,
        gpu_id=gpu_id,
        is_sample=trial.draw is not None,
        parts=list(parts),
        moved_to=str(target),
    )
    return launch(work, trial.make_config(), task, minutes, stop)


def run_and_store(
    store: TrialStore,
    key: str,
    trial: Trial,
    start: Callable[[Path], ProcessEnd],
    *,
    steps: int,
    patience: int = 0,
    minutes: float | None = None,
    keep_model: bool = False,
) -> TrialRecord:
    """Run a trial in a working folder and store it.

    store (TrialStore): The store.
    key (str): Content key of the trial.
    trial (Trial): The trial.
    start (Callable): Trains and scores in the given empty folder, and returns how it ended.
    steps (int): Number of steps of the training; with a patience, the maximum.
    patience (int): Steps without improvement on dev that end the training, or 0.
    minutes (Optional[float]): Time limit of the trial, for the record.
    keep_model (bool): Whether to keep model-best and model-last if the trial succeeds.
    RETURNS (TrialRecord): The record.
    RAISES (TrialStoppedError): If the trial was stopped. Nothing is stored then.
    """
    with store.working_folder(key) as work:
        with coded_io(work):
            end = start(work)
            curve = [{"step": step, DEV_SCORE: f} for step, f in read_points(work).items()]
            _keep_files(work, keep_model and end.status == "done")
        if end.status == "stopped":
            raise TrialStoppedError(end.error)
        parts = [work / f"{part}.json" for part in SCORED if end.status == "done"]
        record = TrialRecord.model_validate(
            {
                "key": key,
                "corpus": trial.corpus.name,
                "method": trial.method.name,
                "choices": trial.method.choices,
                "seed": trial.seed or 0,  # a searched config may have none
                "draw": trial.draw,
                "steps": steps,
                "training": {"patience": patience},
                "curve": curve,
                "code": code_version(),
                "status": end.status,
                "seconds": round(end.seconds, 1),
                "time_limit": minutes,
                "error": end.error.replace(str(store.output), short_path(store.output)),
                **{
                    path.stem: json.loads(path.read_text("utf8"))["scores"]
                    for path in parts
                    if path.is_file()
                },
            }
        )
        store.finish(work, record)
    return record


def _keep_files(work: Path, keep_model: bool) -> None:
    """Copy the record and the curve of a training to the working folder, and delete its folders."""
    for folder, name in itertools.product(_training_folders(work), (RUN_FILE, CURVE_FILE)):
        with suppress(FileNotFoundError):
            shutil.copy(folder / name, work / name)
    kept = MODEL if keep_model else ""
    for folder in (path for path in work.iterdir() if path.is_dir() and path.name != kept):
        shutil.rmtree(folder, ignore_errors=True)  # also of a training that was killed


def read_points(work: Path) -> dict[int, float]:
    """Return macro F1 on dev by step, of a training that may still be running.

    work (Path): Working folder of the trial.
    RETURNS (Dict[int, float]): Scores in [0, 1] of all evaluations so far.
    """
    points: dict[int, float] = {}
    for folder in _training_folders(work):
        with suppress(FileNotFoundError):  # the folder is renamed when the training is done
            points |= {int(p["step"]): p[DEV_SCORE] for p in read_curve(folder / BEST) if DEV_SCORE in p}
    return points


def _training_folders(work: Path) -> list[Path]:
    """Return the folders where the files of a running, finished or failed training may be."""
    return [*in_progress(work / MODEL), work / MODEL, *sorted(work.glob(f"{MODEL}{STOPPED}*"))]
