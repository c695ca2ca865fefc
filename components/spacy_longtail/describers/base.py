"""The interface of describers, and functions that they share."""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Warnings

if TYPE_CHECKING:  # an extra
    import torch

WORD = re.compile(r"\w+(?:[-']\w+)*")
TINY = 1e-12
BATCH = 512  # descriptions that a transformer reads together


class Describer(ABC):
    """Maps descriptions of types to vectors. Its data is saved with the component that has it.

    A describer that needs nothing but its settings has no data, and no file.
    """

    @abstractmethod
    def __call__(self, texts: list[str]) -> Floats2d:
        """Return one row for each description, (n_texts, n_columns).

        A component calls it when it gets its types and when one is added, each time with all
        descriptions, and never to predict. It does not know which component that is.
        """

    def share(self, layers: Iterable[Model]) -> None:  # noqa: B027 (most have nothing to share)
        """Use weights of a pipeline's own layers instead of a copy, where they are the same.

        layers (Iterable[Model]): All layers of the pipeline.
        """

    def to_bytes(self) -> bytes:
        """Return the data that the describer needs beside its settings and shared layers."""
        return b""

    def warn_without_data(self, source: str) -> None:
        """Warn that the describer is saved without data that it needs.

        source (str): The encoder that has the data.
        """
        warnings.warn(Warnings.W211.format(describer=self, source=source), stacklevel=3)

    def from_bytes(self, data: bytes) -> None:  # noqa: B027 (most have no data)
        """Take over data that `to_bytes` returned."""

    def to_disk(self, path: Path) -> None:
        """Write the data, or remove the file that another describer has left."""
        if data := self.to_bytes():
            path.write_bytes(data)
        else:
            path.unlink(missing_ok=True)

    def from_disk(self, path: Path) -> None:
        """Load the data that `to_disk` wrote."""
        if path.is_file():
            self.from_bytes(path.read_bytes())


@dataclass(frozen=True)
class FunctionDescriber(Describer):
    """A describer that is any function from texts to vectors."""

    function: Callable[[list[str]], Floats2d]

    def __call__(self, texts: list[str]) -> Floats2d:
        """Call the function."""
        return self.function(texts)

    def __repr__(self) -> str:
        return repr(self.function)


def as_describer(describe: Callable[[list[str]], Floats2d] | None) -> Describer | None:
    """Return the value of a setting `describe` as a describer."""
    if describe is None or isinstance(describe, Describer):
        return describe
    return FunctionDescriber(describe)


def words(text: str) -> list[str]:
    """Return the words of a description."""
    return WORD.findall(text)


def unit_rows(rows: Floats2d) -> Floats2d:
    """Scale rows to length 1; a row of zeros stays."""
    rows = np.asarray(rows, dtype="float32")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)


def mean_states(encoder: Any, texts: list[list[int]]) -> "torch.Tensor":
    """Return a transformer's mean state over the subwords of each text, without dropout.

    RETURNS (Tensor): (n_texts, hidden), of unit length, where the encoder computes.
    """
    import torch

    device = next(encoder.parameters()).device
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    means = []
    for start in range(0, len(texts), BATCH):
        rows = [torch.tensor(texts[i]) for i in order[start : start + BATCH]]
        ids, mask = (
            torch.nn.utils.rnn.pad_sequence(t, True).to(device)
            for t in (rows, [*map(torch.ones_like, rows)])
        )
        with torch.no_grad():
            states = encoder.eval()(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weight = mask.unsqueeze(-1).float()
        means.append((states * weight).sum(1) / weight.sum(1).clamp(min=1.0))
    return torch.nn.functional.normalize(torch.cat(means)[torch.tensor(order).argsort()], dim=1)
