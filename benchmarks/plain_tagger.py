"""Token tagger in plain transformers and torch, which benchmarks/crosscheck.py compares with ours.

It uses neither spaCy nor thinc nor this package: it reads words and IOB2 tags, and returns IOB2
tags.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModel, AutoTokenizer

SHUT = -1e4  # finite: a sentence of such tags still has a best one


class Sentence(NamedTuple):
    words: list[str]
    tags: list[str]  # IOB2


class Settings(NamedTuple):
    learn_rate: float  # of the encoder, at the end of the warm-up
    head_rate: float  # of the linear layer, as a multiple of it
    warmup_steps: int
    steps: int
    beta1: float
    beta2: float
    eps: float
    weight_decay: float
    clip: float  # greatest norm of the gradient of each parameter


class Batch(NamedTuple):
    pieces: dict[str, torch.Tensor]  # what the encoder takes, padded to the longest sentence
    piece: torch.Tensor  # (n_pieces,), row of each word piece in the flattened output
    word: torch.Tensor  # (n_pieces,), the word that it is of
    n_words: int


class PlainTagger(torch.nn.Module):
    """A pretrained encoder, its word pieces pooled by word, and a linear layer.

    encoder (str): A name on the hub, or a folder.
    tags (list[str]): IOB2 tags, the columns of the output.
    pool (str): Whether a word is the mean of its pieces, or the first of them.
    """

    def __init__(self, encoder: str, tags: list[str], pool: Literal["mean", "first"] = "mean") -> None:
        super().__init__()
        # the prefix is for encoders with a byte-level vocabulary: each word stands after a blank
        self.tokenizer = AutoTokenizer.from_pretrained(encoder, use_fast=True, add_prefix_space=True)
        self.encoder = AutoModel.from_pretrained(encoder)
        self.output = torch.nn.Linear(self.encoder.config.hidden_size, len(tags))
        torch.nn.init.zeros_(self.output.weight)
        torch.nn.init.zeros_(self.output.bias)
        self.tags, self.pool = tags, pool
        self.column = {tag: i for i, tag in enumerate(tags)}
        opens = torch.tensor([tag[0] != "I" for tag in tags])
        goes_on = torch.tensor([[a[0] != "O" and b == f"I-{a[2:]}" for b in tags] for a in tags])
        self.start = torch.where(opens, 0.0, SHUT)
        self.follow = torch.where(opens | goes_on, 0.0, SHUT)

    def encode(self, sentences: list[list[str]]) -> Batch:
        """Return the subwords of a batch, without words beyond the length limit of the encoder."""
        found = self.tokenizer(
            sentences, is_split_into_words=True, truncation=True, padding="longest", return_tensors="pt"
        )
        width = found["input_ids"].shape[1]
        pieces, words, n_words = [], [], 0
        for i, sentence in enumerate(sentences):
            last = None
            for j, word in enumerate(found.word_ids(i)):
                if word is not None and not (self.pool == "first" and word == last):
                    pieces.append(i * width + j)
                    words.append(n_words + word)
                last = word
            n_words += len(sentence)
        device = self.output.weight.device
        inputs = {name: tensor.to(device) for name, tensor in found.items()}
        rows = (torch.tensor(rows, dtype=torch.int64, device=device) for rows in (pieces, words))
        return Batch(inputs, *rows, n_words)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits of all sentences in order, one row per word."""
        hidden = self.encoder(**batch.pieces).last_hidden_state.flatten(0, 1)[batch.piece]
        sums = hidden.new_zeros(batch.n_words, hidden.shape[1]).index_add(0, batch.word, hidden)
        counts = torch.bincount(batch.word, minlength=batch.n_words).clamp(min=1)
        return self.output(sums / counts[:, None])

    def gold(self, sentences: list[Sentence]) -> torch.Tensor:
        columns = [self.column[tag] for sentence in sentences for tag in sentence.tags]
        return torch.tensor(columns, device=self.output.weight.device)

    @torch.no_grad()
    def predict(self, sentences: list[list[str]], n_sentences: int, n_padded: int) -> list[list[str]]:
        """The best legal IOB2 tags of each sentence.

        n_sentences (int): Sentences that are read at a time.
        n_padded (int): Words a batch with padding, the sentences read being batched by length.
        """
        self.eval()
        found: list[list[str]] = [[] for _ in sentences]
        for chunk in _batched(sentences, n_sentences, n_padded):
            logits = self(self.encode([sentences[i] for i in chunk])).cpu()
            best = logits.argmax(1)
            lengths = [len(sentences[i]) for i in chunk]
            rows = zip(chunk, logits.split(lengths), best.split(lengths), strict=True)
            for i, scores, own in rows:
                found[i] = [self.tags[k] for k in self._legal(scores, own).tolist()]
        return found

    def _legal(self, scores: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
        """Return the best tags if their sequence is legal, else the best legal sequence."""
        if not len(best) or self.start[best[0]] + self.follow[best[:-1], best[1:]].sum() == 0:
            return best
        total, back = self.start + scores[0], []
        for row in scores[1:]:
            total, before = (total[:, None] + self.follow).max(0)
            total = total + row
            back.append(before)
        path = [total.argmax()]
        for before in reversed(back):
            path.append(before[path[-1]])
        return torch.stack(path[::-1])


def _batched(sentences: list[list[str]], n_sentences: int, n_padded: int) -> Iterator[list[int]]:
    """Yield batches of indices of non-empty sentences of similar length, to limit padding."""
    for at in range(0, len(sentences), n_sentences):
        order = sorted(range(at, min(at + n_sentences, len(sentences))), key=lambda i: len(sentences[i]))
        batch: list[int] = []
        for i in (i for i in order if sentences[i]):
            if batch and len(sentences[i]) * (len(batch) + 1) > n_padded:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


class PlainTrainer:
    """Trainer with AdamW, linear warm-up and decay, and gradients clipped per parameter."""

    def __init__(self, model: PlainTagger, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.optimizer = torch.optim.AdamW(
            [
                {"params": model.encoder.parameters()},
                {"params": model.output.parameters(), "lr": settings.learn_rate * settings.head_rate},
            ],
            lr=settings.learn_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.eps,
            weight_decay=settings.weight_decay,
            fused=True,  # the fastest that torch has
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._factor)

    def _factor(self, step: int) -> float:
        warmup, steps = self.settings.warmup_steps, self.settings.steps
        if step < warmup:
            return step / max(1, warmup)
        return max(0.0, (steps - step) / max(1, steps - warmup))

    def update(self, sentences: list[Sentence]) -> float:
        """Make one step and return the loss, summed over words, in nats."""
        self.model.train()
        logits = self.model(self.model.encode([s.words for s in sentences]))
        loss = cross_entropy(logits, self.model.gold(sentences), reduction="sum")
        loss.backward()
        for parameter in self.model.parameters():
            torch.nn.utils.clip_grad_norm_(parameter, self.settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()
        return loss.item()
