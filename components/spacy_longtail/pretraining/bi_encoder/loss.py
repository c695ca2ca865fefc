"""What bi-encoders are trained with: rates, and the parts of their losses."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .data import Batch
from .model import BiEncoder, encode
from .packing import Texts
from .start import Start

NEAR = 0.55  # cosine of a transformer's label vectors from which types may both be right
CHUNK = 1024  # label texts that are compared with all others at once
OFF = -1e4
TEMPERATURE = 2.0  # that predictions of a teacher are learnt at


class Schedule(NamedTuple):
    """How fast a bi-encoder learns."""

    encoder_rate: float = 2e-4  # the highest, after the warm-up
    head_rate: float = 1e-3
    warmup: float = 0.05  # of the steps
    weight_decay: float = 0.01
    dropout: float = 0.1


class Teacher(NamedTuple):
    """A pretrained transformer whose predictions are learnt, too."""

    model: BiEncoder
    vectors: Tensor  # (n_texts, hidden), of all label texts as its own label encoder reads them
    share: float  # of its predictions in the loss

    @classmethod
    def of(cls, start: Start, texts: Texts, device: torch.device, share: float = 0.5) -> "Teacher":
        """start (Start): A pretrained pipeline. texts (Texts): Of all labels."""
        labels = BiEncoder(start.labels).to(device)
        vectors = encode(labels, texts.pieces(start.tokenizer))
        return cls(start.model.to(device).eval(), vectors, share)


def near_labels(vectors: Tensor, least: float) -> np.ndarray:
    """Which label texts are close to each other.

    vectors (Tensor): (n_texts, hidden), of unit length. least (float): Cosine of those that are not.
    """
    found = [(own @ vectors.T > least).cpu() for own in vectors.split(CHUNK)]
    near: np.ndarray = torch.cat(found).numpy()
    return near


def states_of(model: BiEncoder, batch: Batch, bf16: bool) -> Tensor:
    """The words of a batch as a transformer reads them, (n_words, hidden).

    bf16 (bool): Whether it computes in half precision.
    """
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        return model.states(batch.ids, batch.mask, batch.rows, batch.columns)


def without_off(logits: Tensor, batch: Batch) -> Tensor:
    """Logits of the candidates, (n_words, 1 + 2 n_candidates), without those that are left out."""
    if batch.off is None:
        return logits
    is_off = functional.pad(batch.off.repeat_interleave(2, dim=1), (1, 0))
    return logits.masked_fill(is_off, OFF)


def divergence(logits: Tensor, theirs: Tensor) -> Tensor:
    """KL divergence from a teacher's predictions, in nats per word times the temperature squared.

    logits, theirs (Tensor): (n_words, n_tags).
    """
    own, their = (functional.log_softmax(z / TEMPERATURE, 1) for z in (logits, theirs))
    kl = functional.kl_div(own, their, log_target=True, reduction="batchmean")
    return kl * TEMPERATURE**2
