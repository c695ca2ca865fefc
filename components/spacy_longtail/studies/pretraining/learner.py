"""What can be pretrained, and how."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spacy.language import Language

from .donors import Donor
from .encoders import CNN
from .records import DonorScore, Progress


class Options(NamedTuple):
    """How to pretrain.

    encoder (str): "cnn", a transformer's name on the hub or folder, or a pipeline to go on from.
    steps (Optional[int]): Training steps; null is 20,000 of a CNN, 6,000 of a transformer.
    words (Optional[int]): Of a batch: words of a CNN's, 1,000 by default; subwords with padding of a
        transformer's, 8,192 by default.
    power (float): Donors are drawn by their number of sentences to this power.
    parts (Tuple[str, ...]): Parts of the donors to train on.
    clusters (Optional[str]): Word clusters of the CNN, as for longtail.RichEmbed.v1.
    evaluations (int): How often donors are scored.
    seed (int): Of weights, batches and dropout. gpu_id (int): -1 is the CPU.
    settings (Mapping[str, Any]): Config values of the CNN by dotted name, or rates of a transformer.
    layers (Optional[int]): Of the transformer, to keep; null keeps all.
    teacher (Optional[str]): A pipeline that was pretrained, whose predictions are learnt, too.
    share (Optional[float]): Of the batches, those with open types; null is 0.6.
    bits (Optional[Tuple[float, float, float]]): Of weights on disk: layers, word embeddings, label
        encoder; null is 7, 6 and 4.
    workers (int): Processes that make a transformer's batches.
    """

    encoder: str = CNN
    steps: int | None = None
    words: int | None = None
    power: float = 0.5
    parts: tuple[str, ...] = ("train",)
    clusters: str | None = None
    evaluations: int = 10
    seed: int = 0
    gpu_id: int = -1
    settings: Mapping[str, Any] = {}
    layers: int | None = None
    teacher: str | None = None
    share: float | None = None
    bits: tuple[float, float, float] | None = None
    workers: int = 0


class Learner(Protocol):
    """An encoder and its head in training."""

    donors: list[Donor]

    def step(self, step: int) -> Any:
        """One update. step (int): Its number. RETURNS (Any): The loss, a number or a tensor of one."""

    def scores(self, most: int | None = None) -> list[DonorScore]:
        """F1 on the donors' sentences that are not trained on. most (Optional[int]): Of each donor."""

    def save(self, folder: Path, progress: Progress) -> None:
        """Write the state."""

    def load(self, folder: Path) -> Progress | None:
        """Take up a state; null if there is none. RAISES (ValueError): L496."""

    def finish(self) -> Language:
        """The pipeline, with the weights to keep."""
