"""What describers share."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.types import Floats2d

if TYPE_CHECKING:  # an extra
    import torch

WORD = re.compile(r"\w+(?:[-']\w+)*")
TINY = 1e-12
BATCH = 512  # descriptions that a transformer reads together


class LoadedLater:
    """A describer whose `_loaded`, a cached property, is loaded when needed. No pickle has it."""

    def release(self) -> None:
        """Let go of what was loaded."""
        self.__dict__.pop("_loaded", None)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_loaded"}


def words(text: str) -> list[str]:
    """The words of a description."""
    return WORD.findall(text)


def unit_rows(rows: Floats2d) -> Floats2d:
    """Rows of length 1; a row of zeros stays."""
    rows = np.asarray(rows, dtype="float32")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)


def mean_states(encoder: Any, texts: list[list[int]]) -> "torch.Tensor":
    """What a transformer makes of texts: means over their subwords, without dropout.

    RETURNS (Tensor): (n_texts, hidden), of unit length, where the encoder computes.
    """
    import torch
    from torch.nn import functional
    from torch.nn.utils.rnn import pad_sequence

    device = next(encoder.parameters()).device
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    means = []
    for start in range(0, len(texts), BATCH):
        rows = [torch.tensor(texts[i]) for i in order[start : start + BATCH]]
        ids, mask = (pad_sequence(t, True).to(device) for t in (rows, [*map(torch.ones_like, rows)]))
        with torch.no_grad():
            states = encoder.eval()(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weight = mask.unsqueeze(-1).float()
        means.append((states * weight).sum(1) / weight.sum(1).clamp(min=1.0))
    return functional.normalize(torch.cat(means)[torch.tensor(order).argsort()], dim=1)
