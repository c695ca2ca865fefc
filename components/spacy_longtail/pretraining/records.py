"""What is asked of a pretraining, and what it refuses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors


class PretrainOptions(NamedTuple):
    """How to pretrain."""

    encoder: str = "en_longtail_cnn"  # a pipeline to go on from, "cnn" for a new one, or a transformer
    steps: int | None = None  # null is 12,000 of a CNN, 6,000 of a transformer
    words: int = 8_192  # subwords of a batch, with padding
    parts: tuple[str, ...] = ("train",)  # of the donors, to train on
    evaluations: int = 10  # how often donors are scored
    seed: int = 0  # of weights, batches and dropout
    gpu_id: int = -1  # -1 is the CPU
    settings: Mapping[str, Any] = {}  # rates by dotted name
    layers: int | None = None  # of a transformer, to keep; null keeps all
    teacher: str | None = None  # a pretrained pipeline of a transformer, whose predictions are learnt
    share: float | None = None  # of the batches, those with open types; null is 0.6
    bits: tuple[float, float, float] | None = None  # of a transformer's weights on disk; null is 7, 6, 4
    workers: int = 0  # processes that make batches


def unusable(path: object, problem: str, fix: str, role: str = "a donor") -> ValueError:
    """L495, to be raised of a donor, a corpus to exclude, an encoder or a teacher."""
    return ValueError(Errors.L495.format(path=path, role=role, problem=problem, fix=fix))


def not_resumable(path: Path, problem: str, fix: str) -> ValueError:
    """L496, to be raised of the folder of an earlier run."""
    return ValueError(Errors.L496.format(path=path, problem=problem, fix=fix))
