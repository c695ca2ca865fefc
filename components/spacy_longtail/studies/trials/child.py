"""Process of one trial: trains and scores a pipeline, and writes the files into a folder."""

import os
import sys
import threading
from pathlib import Path

import srsly

from ...corpus.converted import ConvertedCorpus
from ...evaluation.evaluate import evaluate_model
from ...evaluation.records import write_evaluation
from ...faults import is_coded
from ...training.startup import import_code
from ...training.train import train_model
from .process import MODEL, Task


def run_child(work: Path, task: Task) -> None:
    """Train and score a pipeline. The log of the training goes to stdout.

    work (Path): Folder of the trial, with config.cfg in it.
    task (Task): Corpus to train on, and parts to score.
    """
    for path in task.get("own_code", []):
        import_code(Path(path))
    corpus = ConvertedCorpus(Path(task["corpus"]))
    moved_to = Path(task["moved_to"]) if "moved_to" in task else None
    config, output = work / "config.cfg", work / MODEL
    best = train_model(config, corpus.folder, output, gpu_id=task["gpu_id"], moved_to=moved_to)
    types = corpus.types
    training = None if task["drawn"] else corpus.training
    for part in task["parts"]:
        evaluation = evaluate_model(
            best,
            corpus.path(part),
            types.labels,
            types.tail,
            name=task["name"],
            training=training,
            part=part,
            group_by=types.group_by,
        )
        write_evaluation(evaluation, work / f"{part}.json")


def _end_with_parent() -> None:
    """End this process when its parent ends, which closes the pipe that is stdin."""
    while os.read(0, 1):  # not sys.stdin, whose lock would abort this process when it exits
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    try:
        run_child(folder, srsly.read_json(folder / "task.json"))
    except ValueError as error:  # the traceback of a bug is printed at the end of the log
        if not is_coded(error):
            raise
        print(error, flush=True)
        sys.exit(1)
