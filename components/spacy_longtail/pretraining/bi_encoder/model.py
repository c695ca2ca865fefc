"""A token encoder and a label encoder in one: logits of tags from what the types are in words."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

SCALE = 8.0  # of label vectors, which have unit length, as in layers.described
PREFIXES = 2  # B and I


class Labels(NamedTuple):
    """Label descriptions as pieces."""

    ids: Tensor  # (n_types, n_pieces)
    mask: Tensor  # (n_types, n_pieces), 0 for padding

    def to(self, device: torch.device | str) -> "Labels":
        """The same labels on a device."""
        return Labels(self.ids.to(device), self.mask.to(device))


class Matcher(nn.Module):
    """z[token, type, k] = 8 <P_k h, Q_k d> / sqrt(width), and <o, h> + b for O.

    h is a word as the encoder reads it, d the vector of a label, of unit length.

    encoder (nn.Module): What reads words. n_words, n_labels (int): Columns of h and of d.
    width (int): Columns in which words and labels are compared.
    """

    def __init__(self, encoder: nn.Module, n_words: int, n_labels: int, width: int) -> None:
        super().__init__()
        self.encoder, self.width = encoder, width
        self.P = nn.Parameter(torch.empty(PREFIXES, width, n_words))
        self.Q = nn.Parameter(torch.empty(PREFIXES, width, n_labels))
        for part in (self.P, self.Q):
            for k in range(PREFIXES):
                nn.init.xavier_uniform_(part[k])
        self.o = nn.Linear(n_words, 1)
        nn.init.zeros_(self.o.bias)

    def logits(self, states: Tensor, vectors: Tensor) -> Tensor:
        """One row of logits per word: O, then B and I of each type.

        states (Tensor): (n_words, n_columns of h). vectors (Tensor): (n_types, n_columns of d).
        RETURNS (Tensor): (n_words, 1 + 2 n_types).
        """
        words = torch.einsum("nh,kmh->nkm", states, self.P)
        types = torch.einsum("th,kmh->tkm", vectors, self.Q) * (SCALE / self.width**0.5)
        matched = torch.einsum("nkm,tkm->ntk", words, types).reshape(len(states), -1)
        return torch.cat([self.o(states), matched], dim=1)


class BiEncoder(Matcher):
    """A transformer that reads words and labels.

    h is a word's first piece as the encoder reads it in its sentence, d the mean of a label's pieces as
    the same encoder reads the label, of unit length.

    encoder (nn.Module): A transformer of the library transformers.
    width (int): Columns in which words and labels are compared.
    """

    def __init__(self, encoder: nn.Module, width: int = 256) -> None:
        hidden = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        super().__init__(encoder, hidden, hidden, width)

    def head(self) -> list[nn.Parameter]:
        """The parameters that are not the encoder's."""
        return [self.P, self.Q, *self.o.parameters()]

    def states(self, ids: Tensor, mask: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Words as the encoder reads them, (n_words, hidden).

        ids, mask (Tensor): (n_sentences, n_pieces). rows, columns (Tensor): (n_words,), where the first
        piece of each word stands.
        """
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden[rows, columns].float()

    def describe(self, labels: Labels) -> Tensor:
        """Labels as the encoder reads them, (n_types, hidden), of unit length."""
        hidden = self.encoder(input_ids=labels.ids, attention_mask=labels.mask).last_hidden_state.float()
        weight = labels.mask.unsqueeze(-1).float()
        return functional.normalize((hidden * weight).sum(1) / weight.sum(1), dim=1)


@torch.no_grad()
def encode(model: BiEncoder, texts: list[list[int]], size: int = 512) -> Tensor:
    """Vectors of label texts, (n_texts, hidden), without dropout.

    texts (List[List[int]]): As pieces, with special ones. size (int): Texts of a batch.
    """
    was = model.training
    model.eval()
    device = model.P.device
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.cat(
        [
            model.describe(pad([texts[k] for k in order[i : i + size]]).to(device))
            for i in range(0, len(texts), size)
        ]
    )
    model.train(was)
    return found[torch.tensor(order).argsort().to(device)]


def pad(rows: Sequence[Sequence[int]]) -> Labels:
    """Pieces of labels in one array. rows (Sequence[Sequence[int]]): With special pieces."""
    width = max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return Labels(ids, mask)
