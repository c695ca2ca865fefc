"""The loss of a bi-encoder on a batch."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .data import IGNORED, Batch
from .model import BiEncoder

NEAR = 0.55  # cosine of label vectors from which types may both be right
CHUNK = 1024  # label texts that are compared with all others at once
OFF = -1e4


class Schedule(NamedTuple):
    """How fast a bi-encoder learns."""

    encoder_rate: float = 2e-4  # the highest, after the warm-up
    head_rate: float = 1e-3
    warmup: float = 0.05  # of the steps
    weight_decay: float = 0.01
    dropout: float = 0.1


class Teacher(NamedTuple):
    """A pretrained model whose predictions are learnt, too."""

    model: BiEncoder
    vectors: Tensor  # (n_texts, hidden), of all label texts as its own label encoder reads them
    share: float = 0.5
    temperature: float = 2.0


def near_labels(vectors: Tensor) -> np.ndarray:
    """Which label texts are close to each other. vectors (Tensor): (n_texts, hidden), of unit length."""
    found = [(own @ vectors.T > NEAR).cpu() for own in vectors.split(CHUNK)]
    near: np.ndarray = torch.cat(found).numpy()
    return near


def logits_of(model: BiEncoder, batch: Batch, vectors: Tensor, dropout: float, bf16: bool) -> Tensor:
    """(n_words, 1 + 2 n_candidates), without those that are left out."""
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        states = model.states(batch.ids, batch.mask, batch.rows, batch.columns)
    states = functional.dropout(states, dropout, model.training)
    found = model.logits(states, vectors)
    if batch.off is not None:
        found[:, 1:] = found[:, 1:].masked_fill(batch.off.repeat_interleave(2, dim=1), OFF)
    return found


def loss_of(
    model: BiEncoder, batch: Batch, vectors: Tensor, dropout: float, teacher: Teacher | None, bf16: bool
) -> Tensor:
    """Cross-entropy per word, and how far the predictions are from the teacher's.

    vectors (Tensor): (n_texts, hidden), of all label texts. They are not trained.
    bf16 (bool): Whether the transformers compute in half precision.
    """
    logits = logits_of(model, batch, vectors[batch.texts], dropout, bf16)
    loss = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED)
    if teacher is None:
        return loss
    with torch.no_grad():
        theirs = logits_of(teacher.model, batch, teacher.vectors[batch.texts], 0.0, bf16)
    t = teacher.temperature
    learnt = functional.kl_div(
        functional.log_softmax(logits / t, 1),
        functional.log_softmax(theirs / t, 1),
        log_target=True,
        reduction="batchmean",
    )
    return (1 - teacher.share) * loss + teacher.share * t * t * learnt
