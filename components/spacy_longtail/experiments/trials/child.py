"""The process of one trial: train, score on dev and test, leave the files in a folder."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import srsly

from ...corpora import part_path, read_types
from ...errors import Errors
from ..evaluation import evaluate_model, write_evaluation
from ..training import train_model

MODEL = "model"
SCORED = ("dev", "test")


def run_child(work: Path, task: dict[str, Any]) -> None:
    """Train and score. The training's log goes to stdout.

    work (Path): The folder of the trial, with config.cfg in it.
    task (Dict[str, Any]): corpus, name, gpu_id, checksums by part, drawn (whether the training data is
        a draw, of which scores by frequency would be wrong).
    RAISES (ValueError): L478 if the corpus has changed meanwhile; those of training and evaluation.
    """
    corpus = Path(task["corpus"])
    best = train_model(work / "config.cfg", corpus, work / MODEL, gpu_id=task["gpu_id"])
    types = read_types(corpus)
    training = None if task["drawn"] else part_path(corpus, "train")
    found = dict(srsly.read_json(work / MODEL / "run.json")["checksums"])
    for part in SCORED:
        data = part_path(corpus, part)
        result = evaluate_model(best, data, types.labels, types.tail, task["name"], training, part)
        found[part] = result["checksum"]
        write_evaluation(result, work / f"{part}.json")
    for part, checksum in task["checksums"].items():
        if found[part] != checksum:
            raise ValueError(Errors.L478.format(path=part_path(corpus, part)))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: its end of the pipe closes."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    try:
        run_child(folder, srsly.read_json(folder / "task.json"))
    except ValueError as error:
        sys.exit(f"{error}")
    sys.stdout.flush()
    os._exit(0)  # not waiting for the thread
