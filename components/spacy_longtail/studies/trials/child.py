"""The process of one trial: train, score, leave the files in a folder."""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import srsly

from ...corpus.folder import part_path, read_types
from ...evaluation.evaluate import evaluate_model
from ...evaluation.records import write_evaluation
from ...faults import is_coded
from ...output.writing import is_disk_fault
from ...training.own_code import import_code
from ...training.train import train_model
from .process import IO_FAULT, Task

MODEL = "model"


def run_child(work: Path, task: Task) -> None:
    """Train and score. The training's log goes to stdout.

    work (Path): The folder of the trial, with config.cfg in it.
    task (Task): What to train on and to score.
    """
    for path in task.get("own_code", []):
        import_code(Path(path))
    corpus = Path(task["corpus"])
    best = train_model(work / "config.cfg", corpus, work / MODEL, gpu_id=task["gpu_id"])
    types = read_types(corpus)
    training = None if task["drawn"] else part_path(corpus, "train")
    for part in task["parts"]:
        data = part_path(corpus, part)
        result = evaluate_model(best, data, types.labels, types.tail, task["name"], training, part)
        write_evaluation(result, work / f"{part}.json")


def exit_code(work: Path) -> int:
    """Run the trial that a folder's task.json describes. A bug's traceback is the end of the log.

    work (Path): The folder.
    RETURNS (int): 0, IO_FAULT if the disk is full or refuses, 1 for a coded error, which is printed.
    """
    try:
        run_child(work, srsly.read_json(work / "task.json"))
        sys.stdout.flush()
    except (ValueError, OSError) as error:
        is_fault = is_disk_fault(error) or is_disk_fault(error.__cause__)
        if not (is_fault or is_coded(error)):
            raise
        with suppress(OSError):  # of the same full disk
            print(error, flush=True)
        return IO_FAULT if is_fault else 1
    return 0


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: its end of the pipe closes."""
    while os.read(0, 1):  # not sys.stdin: its lock, held here, would abort an ending process
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os._exit(exit_code(Path(sys.argv[1])))  # not waiting for the thread
