"""Sentence classifiers over rows of words. They need torch: import it within functions."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from .torch_bilstm import BiLSTM


class _Reader(nn.Module, ABC):
    """LSTM states of the words of each sentence, reduced to one logit per sentence.

    n_hidden (int): Width of the states of each direction.
    dropout (float): Dropout rate of the states, in training.
    n_in (Optional[int]): Width of the word vectors; null is decided later, by `resize`.
    """

    output: nn.Linear
    first = f"states.{BiLSTM.first}"

    def __init__(self, n_hidden: int, dropout: float, n_in: int | None = None) -> None:
        super().__init__()
        self.n_hidden = n_hidden
        self.states = BiLSTM(n_hidden, 1, dropout)
        if n_in is not None:
            self.resize(n_in)

    def resize(self, n_in: int) -> None:
        """Draw new weights for inputs of this width."""
        self.states.resize(n_in)
        self.reset()
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    @property
    def n_in(self) -> int | None:
        return self.states.n_in

    @abstractmethod
    def reset(self) -> None:
        """Draw new weights for all layers after the states, including `output`."""

    def forward(self, rows: Tensor, lengths: list[int]) -> Tensor:
        """Return the logit of each sentence.

        rows (Tensor): (n_tokens, n_in), of all sentences.
        RETURNS (Tensor): (n_sentences, 1).
        """
        states = self.states(rows, lengths)
        sizes = torch.tensor(lengths, device=rows.device)
        return self.output(self.reduce(rows, states, Sentences(sizes))).float()

    @abstractmethod
    def reduce(self, rows: Tensor, states: Tensor, sentences: "Sentences") -> Tensor:
        """Return one row per sentence, as wide as the input of the output layer."""


class Sentences:
    """Positions of the rows of each sentence.

    sizes (Tensor): Number of rows of each sentence, shape (n_sentences,).
    """

    def __init__(self, sizes: Tensor) -> None:
        self.last = sizes.cumsum(0) - 1
        self.first = self.last - sizes + 1
        self.of_row = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)

    def max(self, rows: Tensor) -> Tensor:
        """Return the maximum of each column in each sentence, shape (n_sentences, width)."""
        index = self.of_row.unsqueeze(1).expand_as(rows)
        empty = rows.new_zeros(len(self.last), rows.shape[1])
        return empty.scatter_reduce(0, index, rows, "amax", include_self=False)

    def sum(self, rows: Tensor) -> Tensor:
        """Return the sum of each column in each sentence, shape (n_sentences, width)."""
        return rows.new_zeros(len(self.last), rows.shape[1]).index_add(0, self.of_row, rows)

    def softmax(self, scores: Tensor) -> Tensor:
        """Return weights that sum to 1 over the rows of a sentence, in each column of `scores`."""
        weights = torch.exp(scores - self.max(scores.detach())[self.of_row])
        return weights / self.sum(weights)[self.of_row]


class RNNCNN(_Reader):
    """Words beside their LSTM states, a linear layer with tanh, and the maximum over words."""

    def reset(self) -> None:
        self.words = nn.Linear(2 * self.n_hidden + (self.n_in or 0), self.n_hidden)
        self.output = nn.Linear(self.n_hidden, 1)

    def reduce(self, rows: Tensor, states: Tensor, sentences: Sentences) -> Tensor:
        return sentences.max(torch.tanh(self.words(torch.cat([states, rows], dim=1))))


class LSTMAttention(_Reader):
    """The states, weighted by the softmax of their dot products with the last state."""

    def reset(self) -> None:
        self.output = nn.Linear(2 * self.n_hidden, 1)

    def reduce(self, rows: Tensor, states: Tensor, sentences: Sentences) -> Tensor:
        n = self.n_hidden  # each direction ends at another end of the sentence
        last = torch.cat([states[sentences.last, :n], states[sentences.first, n:]], dim=1)
        scores = (states * last[sentences.of_row]).sum(dim=1, keepdim=True)
        return sentences.sum(sentences.softmax(scores) * states)


class SelfAttention(_Reader):
    """Several weighted sums of the states, with learnt weights softmax(W2 tanh(W1 H)).

    n_hidden, dropout, n_in: As for `_Reader`.
    n_hops (int): Number of sums.
    n_attention (int): Width of the hidden layer that the weights come from.
    """

    def __init__(
        self, n_hidden: int, dropout: float, n_hops: int, n_attention: int, n_in: int | None = None
    ) -> None:
        self.n_hops, self.n_attention = n_hops, n_attention
        super().__init__(n_hidden, dropout, n_in)

    def reset(self) -> None:
        hidden = nn.Linear(2 * self.n_hidden, self.n_attention, bias=False)
        hops = nn.Linear(self.n_attention, self.n_hops, bias=False)
        self.attend = nn.Sequential(hidden, nn.Tanh(), hops)
        self.output = nn.Linear(self.n_hops * 2 * self.n_hidden, 1)

    def reduce(self, rows: Tensor, states: Tensor, sentences: Sentences) -> Tensor:
        weights = sentences.softmax(self.attend(states))
        hops = [sentences.sum(weights[:, hop : hop + 1] * states) for hop in range(self.n_hops)]
        return torch.cat(hops, dim=1)
