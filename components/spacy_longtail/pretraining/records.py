"""Options of a pretraining, and errors of its inputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors


class PretrainOptions(NamedTuple):
    """Options of a pretraining."""

    encoder: str = "en_longtail_cnn"  # pipeline to start from, "cnn" for a new one, or a transformer
    steps: int | None = None  # null is 12,000 for a CNN, 6,000 for a transformer
    words: int = 8_192  # maximum number of subwords in a batch, padding included
    parts: tuple[str, ...] = ("train",)  # parts of the donors to train on
    evaluations: int = 10  # number of evaluations on the donors
    seed: int = 0  # random seed of weights, batches and dropout
    gpu_id: int = -1  # -1 for the CPU
    settings: Mapping[str, Any] = {}  # rates such as the learning rate, by dotted name
    layers: int | None = None  # number of layers of a transformer to keep; null keeps all
    teacher: str | None = None  # pretrained transformer pipeline whose predictions are learned
    teacher_cache: Path | None = None  # folder for the teacher's states; null computes them per batch
    share: float | None = None  # fraction of the batches with free-text types; null is 0.6
    workers: int = 0  # number of processes that prepare batches
    new_subwords: int = 0  # number of subwords of the donors' text to add to those of a CNN


def unusable(path: object, problem: str, fix: str, role: str = "a donor") -> ValueError:
    """Return the error for an unusable donor, excluded corpus, encoder or teacher (L495)."""
    return ValueError(Errors.L495.format(path=path, role=role, problem=problem, fix=fix))
