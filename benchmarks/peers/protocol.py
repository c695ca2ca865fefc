"""What peers share: a task to read and predictions to hand in. It needs nothing but Python.

A peer is a module with `train(task)`, `predict(model, sentences)` and `run(train, predict)` as its
last line. `python PEER.py TASK.json` trains in the task's folder and writes `result.json` there.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Entity = tuple[int, int, str, float | None]  # first word, word behind the last, type, score
Words = list[str]


class Sentence(NamedTuple):
    words: Words
    tags: list[str]  # IOB2


class Task(NamedTuple):
    """A peer's task. A round is `passes` passes over the training sentences and a score on dev."""

    train: list[Sentence]
    dev: list[Sentence]
    test: list[Words]
    types: list[str]
    rare: list[str]
    encoder: str  # a folder
    seed: int
    passes: int
    patience: int  # rounds without a better score, behind which training ends
    rounds: int  # at most
    settings: dict[str, Any]  # of this peer
    folder: Path  # where it trains and writes

    @property
    def tags(self) -> list[str]:
        return ["O", *(f"{prefix}-{label}" for label in self.types for prefix in "BI")]

    @property
    def round(self) -> list[Sentence]:
        """The training sentences of one round."""
        return self.train * self.passes


def read_task(path: Path) -> Task:
    data = json.loads(path.read_text(encoding="utf8"))
    for part in ("train", "dev"):
        data[part] = [Sentence(**row) for row in data[part]]
    return Task(**data, folder=path.parent)


def entities_of(tags: Sequence[str], scores: Sequence[float] | None = None) -> list[Entity]:
    """Entities of IOB2 tags. The score of one is the mean of its words' scores."""
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
    """Entities by characters of the words joined by blanks, as entities by words.

    An entity that cuts a word takes the whole word, unless one before it has that.
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
    """Macro F1 over the types, of IOB2 tags: what rounds are compared by."""
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
    """MiB of a folder's files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def core_seconds() -> float:
    """What cores have spent on this process and those that it started."""
    return sum(os.times()[:4])


def run(
    train: Callable[[Task], tuple[Any, Path]],
    predict: Callable[[Any, list[Words]], list[list[Entity]]],
) -> None:
    """Train, predict dev and test, and write the result.

    train (Callable): From a task to a model, ready to predict, and its folder on disk.
    predict (Callable): From a model and sentences to the entities of each.
    """
    task = read_task(Path(sys.argv[1]))
    seconds, cores = {}, {}
    start = time.perf_counter(), core_seconds()
    model, saved = train(task)
    seconds["train"], cores["train"] = time.perf_counter() - start[0], core_seconds() - start[1]
    parts = {"dev": [sentence.words for sentence in task.dev], "test": task.test}
    entities = {}
    for part, sentences in parts.items():  # dev warms up
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
