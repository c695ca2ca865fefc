"""What can be pretrained, and how."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spacy.language import Language

from .donors import Donor
from .records import DonorScore, Progress


class Options(NamedTuple):
    """How to pretrain.

    encoder (str): A pipeline to go on from, "cnn" for a new one, or a transformer: its name on the hub
        or its folder.
    steps (Optional[int]): Training steps; null is 12,000 of a CNN, 6,000 of a transformer.
    words (int): Subwords of a batch, with padding.
    power (float): Donors are drawn by their number of sentences to this power.
    parts (Tuple[str, ...]): Parts of the donors to train on.
    evaluations (int): How often donors are scored.
    seed (int): Of weights, batches and dropout. gpu_id (int): -1 is the CPU.
    settings (Mapping[str, Any]): Rates by dotted name.
    layers (Optional[int]): Of a transformer, to keep; null keeps all.
    teacher (Optional[str]): A pretrained pipeline of a transformer, whose predictions are learnt, too.
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


class Learner(Protocol):
    """An encoder and its head in training."""

    donors: list[Donor]
    label_encoder: bytes | None  # the file that a transformer's pipeline reads descriptions with

    def step(self, step: int) -> Any:
        """One update. step (int): Its number. RETURNS (Any): The loss, a number or a tensor of one."""

    def scores(self, most: int | None = None) -> list[DonorScore]:
        """F1 on the donors' sentences that are not trained on. most (Optional[int]): Of each donor."""

    def save(self, folder: Path, progress: Progress) -> None:
        """Write the state."""

    def load(self, folder: Path) -> Progress | None:
        """Take up a state; null if there is none. RAISES (ValueError): L496."""

    def finish(self, name: str) -> Language:
        """The pipeline, with the weights to keep. name (str): That it will be found by."""
