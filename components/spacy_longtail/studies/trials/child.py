"""Process of one trial: trains and scores a pipeline, and writes the files into a folder."""

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import srsly

from ...corpus.converted import ConvertedCorpus
from ...evaluation.evaluate import evaluate_model
from ...evaluation.records import write_evaluation
from ...faults import is_coded
from ...training.startup import import_code
from ...training.train import train_model
from .process import MODEL, ChildTask


def run_child(work: Path, task: ChildTask, own_code: Sequence[str]) -> None:
    """Train and score a pipeline. The log of the training goes to stdout.

    work (Path): Folder of the trial, with config.cfg in it.
    task (ChildTask): What to train and to score.
    own_code (Sequence[str]): Files to import first.
    """
    for path in own_code:
        import_code(Path(path))
    corpus = Path(task.corpus)
    converted, config, output = ConvertedCorpus(corpus), work / "config.cfg", work / MODEL
    best = train_model(config, corpus, output, gpu_id=task.gpu_id, moved_to=Path(task.moved_to))
    types = converted.types
    training = None if task.is_sample else converted.training
    for part in task.parts:
        write_evaluation(
            evaluate_model(
                best,
                converted.path(part),
                types.labels,
                types.tail,
                name=task.name,
                training=training,
                part=part,
                group_by=types.group_by,
            ),
            work / f"{part}.json",
        )


def _end_with_parent() -> None:
    """End this process when its parent ends, which closes the pipe that is stdin."""
    while os.read(0, 1):  # not sys.stdin, whose lock would abort this process when it exits
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    try:
        given = srsly.read_json(folder / "task.json")
        run_child(folder, ChildTask(**given["task"]), given["own_code"])
    except ValueError as error:  # the traceback of a bug is printed at the end of the log
        if not is_coded(error):
            raise
        print(error, flush=True)
        sys.exit(1)
