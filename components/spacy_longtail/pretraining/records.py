"""What is asked of a pretraining, and what it leaves on disk."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field

from ..errors import Errors
from ..records import Record

PROGRESS = "progress.json"  # in the folder of a state


class PretrainOptions(NamedTuple):
    """How to pretrain.

    encoder (str): A pipeline to go on from, "cnn" for a new one, or a transformer: its name on the
        hub or its folder.
    steps (Optional[int]): Training steps; null is 12,000 of a CNN, 6,000 of a transformer.
    words (int): Subwords of a batch, with padding.
    power (float): Donors are drawn by their number of sentences to this power.
    parts (Tuple[str, ...]): Parts of the donors to train on.
    evaluations (int): How often donors are scored.
    seed (int): Of weights, batches and dropout. gpu_id (int): -1 is the CPU.
    settings (Mapping[str, Any]): Rates by dotted name.
    layers (Optional[int]): Of a transformer, to keep; null keeps all.
    teacher (Optional[str]): A pretrained pipeline of a transformer, whose predictions are learnt.
    share (Optional[float]): Of the batches, those with open types; null is 0.6.
    bits (Optional[Tuple[float, float, float]]): Of a transformer's weights on disk: layers, word
        embeddings, label encoder; null is 7, 6 and 4.
    workers (int): Processes that make batches.
    """

    encoder: str = "en_longtail_cnn"
    steps: int | None = None
    words: int = 8_192
    power: float = 0.5
    parts: tuple[str, ...] = ("train",)
    evaluations: int = 10
    seed: int = 0
    gpu_id: int = -1
    settings: Mapping[str, Any] = {}
    layers: int | None = None
    teacher: str | None = None
    share: float | None = None
    bits: tuple[float, float, float] | None = None
    workers: int = 0


class DonorScore(Record):
    """F1 on the sentences of a donor that were not trained on."""

    name: str
    micro: float
    macro: float
    sentences: int


Scores = list[tuple[int, list[DonorScore]]]  # by step


class Progress(Record):
    """How far a pretraining is."""

    model_config = ConfigDict(frozen=False)

    step: int = 0
    seconds: float = 0.0
    scores: Scores = Field(default_factory=list)
    key: str = ""  # of the pretraining: options and data


@contextmanager
def reading_state(path: Path) -> Iterator[None]:
    """Where the state of a pretraining is read: what is damaged is refused."""
    try:
        yield
    except Exception as error:  # of JSON, msgpack, zip and torch: each its own kind
        problem = f"it is damaged ({type(error).__name__}: {error})"
        raise not_resumable(path, problem, "Delete it") from error


def not_resumable(path: Path, problem: str, fix: str) -> ValueError:
    """L496, to be raised of the folder of an earlier run."""
    return ValueError(Errors.L496.format(path=path, problem=problem, fix=fix))
