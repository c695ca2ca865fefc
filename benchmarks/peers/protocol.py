"""Interface of a peer: how it reads its task and writes its predictions, in plain Python.

A peer is a module with the functions `train(task)` and `predict(model, sentences)`, whose last line
is `run(train, predict)`. `python PEER.py TASK.json` trains in the folder of the task and writes
`result.json` there.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Entity = tuple[int, int, str, float | None]  # first word, end (exclusive), type, score
Words = list[str]


class Sentence(NamedTuple):
    words: Words
    tags: list[str]  # IOB2


class Task(NamedTuple):
    """Task of a peer. A round is `passes` passes over the training sentences and a score on dev."""

    train: list[Sentence]
    dev: list[Sentence]
    test: list[Words]
    types: list[str]
    rare: list[str]
    encoder: str  # folder of a transformer
    seed: int
    passes: int
    patience: int  # rounds without a better score until training stops
    rounds: int  # maximum
    settings: dict[str, Any]  # settings of this peer
    folder: Path  # for the model and the result

    @property
    def tags(self) -> list[str]:
        return ["O", *(f"{prefix}-{label}" for label in self.types for prefix in "BI")]

    @property
    def round(self) -> list[Sentence]:
        """Return the training sentences of one round."""
        return self.train * self.passes


def read_task(path: Path) -> Task:
    data = json.loads(path.read_text(encoding="utf8"))
    for part in ("train", "dev"):
        data[part] = [Sentence(**row) for row in data[part]]
    return Task(**data, folder=path.parent)


def entities_of(tags: Sequence[str], scores: Sequence[float] | None = None) -> list[Entity]:
    """Return the entities of IOB2 tags. An entity's score is the mean score of its words."""
    entities: list[Entity] = []
    start: int | None = None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and tag != "I-" + tags[start][2:]:
            score = sum(scores[start:i]) / (i - start) if scores is not None else None
            entities.append((start, i, tags[start][2:], score))
            start = None
        if start is None and tag != "O":
            start = i
    return entities


def in_words(words: Words, entities: Sequence[tuple[int, int, str, float | None]]) -> list[Entity]:
    """Convert character offsets in the words joined by blanks to word offsets.

    An entity that starts or ends inside a word gets the whole word, unless it is taken already.
    """
    word_at: list[int] = []
    for i, word in enumerate(words):
        word_at += [i] * (len(word) + 1)
    placed: list[Entity] = []
    for start, end, label, score in sorted(entities, key=lambda entity: entity[:2]):
        first = word_at[start]
        if not placed or first >= placed[-1][1]:
            placed.append((first, word_at[end - 1] + 1, label, score))
    return placed


def macro_f1(types: Sequence[str], gold: Sequence[Words], predicted: Sequence[Words]) -> float:
    """Return the macro F1 of IOB2 tags over the types, by which rounds are compared."""
    right, n_gold, n_predicted = (dict.fromkeys(types, 0) for _ in range(3))
    for gold_tags, tags in zip(gold, predicted, strict=True):
        wanted, entities = set(entities_of(gold_tags)), entities_of(tags)
        for counts, members in ((n_gold, wanted), (n_predicted, entities)):
            for entity in members:
                counts[entity[2]] += 1
        for entity in wanted.intersection(entities):
            right[entity[2]] += 1
    scores = [2 * right[t] / max(1, n_gold[t] + n_predicted[t]) for t in types]
    return sum(scores) / len(types)


def disk(folder: Path) -> float:
    """Return the size of a folder's files, in MiB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def core_seconds() -> float:
    """Return the CPU time of this process and its child processes, in seconds."""
    return sum(os.times()[:4])


def run(
    train: Callable[[Task], tuple[Any, Path]],
    predict: Callable[[Any, list[Words]], list[list[Entity]]],
) -> None:
    """Train, predict dev and test, and write the result.

    train (Callable): Function of a task that returns a model and its folder on disk.
    predict (Callable): Function of a model and sentences that returns the entities of each.
    """
    task = read_task(Path(sys.argv[1]))
    seconds, cores = {}, {}
    start = time.perf_counter(), core_seconds()
    model, saved = train(task)
    seconds["train"], cores["train"] = time.perf_counter() - start[0], core_seconds() - start[1]
    parts = {"dev": [sentence.words for sentence in task.dev], "test": task.test}
    entities = {}
    for part, sentences in parts.items():  # predicting dev warms the model up before test is timed
        start = time.perf_counter(), core_seconds()
        entities[part] = predict(model, sentences)
        seconds[part], cores[part] = time.perf_counter() - start[0], core_seconds() - start[1]
    usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(usage).ru_maxrss for usage in usages) / 1024
    result = {"entities": entities, "seconds": seconds, "core_seconds": cores}
    result |= {"peak_mib": peak, "disk_mib": disk(saved)}
    path = task.folder / "result.json"
    path.with_suffix(".part").write_text(json.dumps(result), encoding="utf8")
    os.replace(path.with_suffix(".part"), path)
