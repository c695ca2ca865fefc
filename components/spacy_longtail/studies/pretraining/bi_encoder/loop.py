"""Pretraining of a bi-encoder on donors and open types."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from .data import IGNORED, Batch, Batches, Donor, Options
from .model import BiEncoder

NEAR = 0.55  # cosine of label vectors from which types may both be right
OFF = -1e4
DEFAULT = Options()


class Schedule(NamedTuple):
    """How long and how fast."""

    steps: int | None = None
    seconds: float | None = None
    pieces: int = 8192  # of a batch, with padding
    encoder_rate: float = 2e-4
    head_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    dropout: float = 0.1
    seed: int = 0


class Teacher(NamedTuple):
    """A larger model whose logits are learnt, too."""

    model: BiEncoder
    share: float = 0.5
    temperature: float = 2.0


def near_labels(vectors: Tensor) -> np.ndarray:
    """Which label texts are close to each other. vectors (Tensor): (n_texts, hidden), of unit length."""
    found: np.ndarray = (vectors @ vectors.T > NEAR).cpu().numpy()
    return found


def logits_of(model: BiEncoder, batch: Batch, vectors: Tensor, dropout: float, bf16: bool) -> Tensor:
    """(n_words, 1 + 2 n_candidates), without those that are left out."""
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        states = model.states(batch.ids, batch.mask, batch.rows, batch.columns)
    states = functional.dropout(states, dropout, model.training)
    found = model.logits(states, vectors)
    if batch.off is not None:
        found[:, 1:] = found[:, 1:].masked_fill(batch.off.repeat_interleave(2, dim=1), OFF)
    return found


def described(model: BiEncoder, batch: Batch, bf16: bool) -> Tensor:
    """Vectors of a batch's candidates, (n_candidates, hidden)."""
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=bf16):
        return model.describe(batch.labels)


def train(
    model: BiEncoder,
    donors: Sequence[Donor],
    texts: list[list[int]],
    near: np.ndarray,
    schedule: Schedule,
    device: str,
    frozen: Tensor | None = None,
    teacher: Teacher | None = None,
    options: Options = DEFAULT,
    watch: Callable[[BiEncoder, int, float], None] | None = None,
    watches: int = 4,
    workers: int = 0,
) -> tuple[int, float]:
    """Train to the end of a schedule.

    model (BiEncoder): Is trained in place; its word embeddings are not.
    donors (Sequence[Donor]): Drawn by their weights, a batch of one at a time.
    texts (List[List[int]]): All label texts as pieces. near (np.ndarray): As `near_labels` has it.
    frozen (Optional[Tensor]): (n_texts, hidden), label vectors that stay; null encodes the labels.
    teacher (Optional[Teacher]): Whose predictions are learnt, too.
    options (Options): How candidates are chosen.
    watch (Optional[Callable]): Called `watches` times with the model, the step and the mean loss since.
    workers (int): Processes that make batches; with 0 the order of batches is a function of the seed.
    RETURNS (Tuple[int, float]): Steps, and pieces in millions.
    """
    torch.manual_seed(schedule.seed)
    bf16 = device.startswith("cuda")
    embeddings: nn.Module = model.encoder.get_input_embeddings()  # type: ignore[operator]
    embeddings.requires_grad_(False)
    encoder = [p for p in model.encoder.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": encoder}, {"params": model.head()}],
        lr=1.0,
        weight_decay=schedule.weight_decay,
        fused=bf16,
    )
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    drawn = Batches(donors, texts, near, schedule.pieces, schedule.seed, options)
    stream = iter(DataLoader(drawn, batch_size=None, num_workers=workers, pin_memory=bf16))
    start, step, n_pieces, next_watch = time.monotonic(), 0, 0, 1
    total, counted = torch.zeros((), device=device), 0
    model.train()
    while True:
        done = (
            step / schedule.steps
            if schedule.steps
            else (time.monotonic() - start) / (schedule.seconds or 1.0)
        )
        if done >= 1:
            break
        rate = min(1.0, done / schedule.warmup) * (1 - done)
        for group, base in zip(
            optimizer.param_groups, (schedule.encoder_rate, schedule.head_rate), strict=True
        ):
            group["lr"] = base * rate
        batch = next(stream).to(device)
        n_pieces += batch.ids.numel()
        vectors = described(model, batch, bf16) if frozen is None else frozen[batch.texts]
        logits = logits_of(model, batch, vectors, schedule.dropout, bf16)
        loss = functional.cross_entropy(logits, batch.gold, ignore_index=IGNORED)
        if teacher is not None:
            with torch.no_grad():
                known = described(teacher.model, batch, bf16) if frozen is None else vectors
                theirs = logits_of(teacher.model, batch, known, 0.0, bf16)
            t = teacher.temperature
            learnt = functional.kl_div(
                functional.log_softmax(logits / t, 1),
                functional.log_softmax(theirs / t, 1),
                log_target=True,
                reduction="batchmean",
            )
            loss = (1 - teacher.share) * loss + teacher.share * t * t * learnt
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        total += loss.detach()
        step += 1
        counted += 1
        if watch is not None and done >= next_watch / watches:
            next_watch += 1
            paused = time.monotonic()
            watch(model, step, float(total) / counted)
            total.zero_()
            counted = 0
            start += time.monotonic() - paused  # what is measured does not count
            model.train()
    return step, n_pieces / 1e6
