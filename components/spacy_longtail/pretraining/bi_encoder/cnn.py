"""spaCy's CNN over hashed attributes and subwords, as a bi-encoder in torch, for pretraining."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from .model import Matcher

ATTRIBUTES = ("NORM", "PREFIX", "SUFFIX", "SHAPE")

EPSILON = 1e-8  # of layer normalisation, as in thinc
PIECES = 3  # of maxout


class WordFeatures(NamedTuple):
    """What the CNN knows of each word of a vocabulary, in arrays.

    rows (Tensor): (n_words, n_attributes, 4), rows of the hash tables.
    subwords (Tensor): (n_words, n_subwords), padded with the number of subwords that there are.
    """

    rows: Tensor
    subwords: Tensor


class Maxout(nn.Module):
    """thinc's Maxout with layer normalisation."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.empty(n_out, PIECES, n_in))
        self.b = nn.Parameter(torch.zeros(n_out, PIECES))
        self.G = nn.Parameter(torch.ones(n_out))
        self.shift = nn.Parameter(torch.zeros(n_out))
        nn.init.uniform_(self.W, -((6 / (n_in + n_out)) ** 0.5), (6 / (n_in + n_out)) ** 0.5)

    def forward(self, rows: Tensor) -> Tensor:
        n_out, n_pieces, n_in = self.W.shape
        best = functional.linear(rows, self.W.view(-1, n_in), self.b.view(-1))
        best = best.view(len(rows), n_out, n_pieces).amax(2)
        return functional.layer_norm(best.float(), (n_out,), self.G, self.shift, EPSILON)


class CNN(nn.Module):
    """longtail.RichEmbed.v1 with attributes and subwords, and spacy.MaxoutWindowEncoder.v2.

    vectors (Tensor): (n_subwords, n_columns), the table of subwords at first.
    """

    def __init__(self, vectors: Tensor, rows: Sequence[int], width: int = 96, depth: int = 4) -> None:
        super().__init__()
        self.width, self.depth = width, depth
        self.tables = nn.ParameterList(
            [nn.Parameter(torch.empty(n, width).uniform_(-0.1, 0.1)) for n in rows]
        )
        self.vectors = nn.Parameter(vectors.clone().float())
        self.project = nn.Linear(vectors.shape[1], width, bias=False)
        self.mix = Maxout(width * (len(rows) + 1), width)
        self.blocks = nn.ModuleList([Maxout(width * 3, width) for _ in range(depth)])

    def mean(self, subwords: Tensor) -> Tensor:
        """Mean vectors, (n_texts, n_columns). subwords (Tensor): (n_texts, n_subwords), padded."""
        n = len(self.vectors)
        lengths = (subwords < n).sum(1, keepdim=True).clamp(min=1)
        table = torch.cat([self.vectors, self.vectors.new_zeros(1, self.vectors.shape[1])])
        return functional.embedding(subwords, table).sum(1) / lengths

    def embed(self, features: WordFeatures) -> Tensor:
        """(n_words, width)."""
        parts = [functional.embedding(features.rows[:, i], t).sum(1) for i, t in enumerate(self.tables)]
        parts.append(self.project(self.mean(features.subwords)))
        return self.mix(torch.cat(parts, 1))

    def encode(self, words: Tensor, lengths: Tensor, dropout: float = 0.0) -> Tensor:
        """(n_tokens, width). words (Tensor): (n_tokens, width). lengths (Tensor): (n_sentences,)."""
        n = int(lengths.sum()) + self.depth * (len(lengths) + 1)
        at = torch.arange(len(words), device=words.device) + self.depth * (
            1 + torch.repeat_interleave(torch.arange(len(lengths), device=words.device), lengths)
        )
        X = words.new_zeros(n, self.width).index_copy(0, at, words)  # sentences, with zeros between them
        edge = words.new_zeros(1, self.width)
        for block in self.blocks:
            window = torch.cat([torch.cat([edge, X[:-1]]), X, torch.cat([X[1:], edge])], 1)
            X = X + functional.dropout(block(window), dropout, self.training)
        return X[at]


class CNNBiEncoder(Matcher):
    """The CNN below the head of longtail.DescribedTypes.v1, its labels read by the same subwords."""

    encoder: CNN

    def __init__(self, encoder: CNN, width: int = 256) -> None:
        super().__init__(encoder, encoder.width, encoder.vectors.shape[1], width)

    def describe(self, subwords: Tensor) -> Tensor:
        """(n_labels, n_columns), of unit length. subwords (Tensor): (n_labels, n_subwords), padded."""
        return functional.normalize(self.encoder.mean(subwords), dim=1)


def reduce_columns(model: CNNBiEncoder, counts: np.ndarray, n_columns: int) -> None:
    """Keep the directions of the table of subwords that the projections of words and labels use most.

    counts (np.ndarray): (n_subwords,), how often the donors have each subword.
    """
    parts = (model.encoder.vectors, model.encoder.project.weight, model.Q)
    table, words, labels = (part.detach().double().cpu().numpy() for part in parts)
    if table.shape[1] <= n_columns:
        return
    weights = (counts + 1) ** 0.5
    C = table.T @ (table * (weights / weights.sum())[:, None])
    values, axes = np.linalg.eigh(C)
    root = axes * np.maximum(values, 0) ** 0.5
    used = sum(Q.T @ Q / np.trace(Q @ C @ Q.T) for Q in (words, labels.reshape(-1, labels.shape[2])))
    _, directions = np.linalg.eigh(root.T @ used @ root)
    basis = torch.from_numpy(np.linalg.qr(root @ directions[:, -n_columns:])[0]).float()
    model.encoder.vectors, model.encoder.project.weight, model.Q = (
        nn.Parameter(part.detach().cpu() @ basis) for part in parts
    )
