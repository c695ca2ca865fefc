"""Vectors of words from those of their pieces: what each kind of table has in common."""

from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cached_property

import numpy as np

MOST_CACHED = 100_000  # words whose vectors are kept
GOES_ON = "##"  # before a piece that is not a word's first


class PieceVectors(ABC):
    """A dataclass whose words have the mean vector of their pieces, and zeros where they have none."""

    @property
    @abstractmethod
    def n_columns(self) -> int: ...

    @abstractmethod
    def cut(self, words: list[str]) -> list[list[int]]:
        """The pieces of each word."""

    @abstractmethod
    def rows(self, pieces: list[int]) -> np.ndarray:
        """Their vectors. RETURNS (np.ndarray): (n_pieces, n_columns)."""

    def of_words(self, words: list[str]) -> np.ndarray:
        """RETURNS (np.ndarray): (n_words, n_columns) float32."""
        if len(self._known) > MOST_CACHED:
            self._known = {}  # another one: threads may be reading this
        known = self._known
        new = [word for word in words if word not in known]
        if new:
            known.update(zip(new, self._means(new), strict=True))
        none = np.zeros((0, self.n_columns), dtype="float32")
        return np.stack([known[word] for word in words]) if words else none

    def _means(self, words: list[str]) -> np.ndarray:
        pieces = self.cut(words)
        lengths = np.array([len(own) for own in pieces])
        rows = self.rows([piece for own in pieces for piece in own])
        sums = np.concatenate([np.zeros((1, self.n_columns)), np.cumsum(rows, axis=0, dtype="float64")])
        ends = np.cumsum(lengths)
        means = (sums[ends] - sums[ends - lengths]) / np.maximum(lengths, 1)[:, None]
        return means.astype("float32")

    @cached_property
    def _known(self) -> dict[str, np.ndarray]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        """Without what is made again where it is needed."""
        return {own.name: getattr(self, own.name) for own in fields(self)}  # type: ignore[arg-type]
