"""Bidirectional LSTM over documents of any length. It needs torch: import it within functions."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Order(NamedTuple):
    """Documents in reading order, or against it, side by side in groups of similar lengths."""

    indices: list[Tensor]  # a group: (n_steps, n_docs), the row of a flat array that stands at each step
    places: Tensor  # (n_tokens,): where each row stands among the steps of all groups


def orders_of(lengths: list[int], device: torch.device | str = "cpu") -> list[Order]:
    """Group documents so that padding at most doubles the rows. Empty documents are in no group.

    The steps beyond a document's end repeat a row of its own. In both directions they come after
    its words, so that no state of a word depends on them.

    lengths (List[int]): Rows of each document, in the order of the flat array.
    RETURNS (List[Order]): From the first word to the last, and back.
    """
    sizes = torch.tensor(lengths)
    starts = sizes.cumsum(0) - sizes
    group = torch.tensor([(n - 1).bit_length() if n else -1 for n in lengths])  # 1, 2, 3-4, 5-8, ...
    forward, backward, real = [], [], []
    for g in torch.unique(group[sizes > 0]):
        first, n_words = starts[group == g], sizes[group == g]
        step = torch.arange(int(n_words.max())).reshape(-1, 1)
        forward.append(first + torch.minimum(step, n_words - 1))
        backward.append(first + torch.clamp(n_words - 1 - step, min=0))
        real.append((step < n_words).flatten())
    steps = torch.cat(real)
    orders = []
    for indices in (forward, backward):
        rows = torch.cat([index.flatten() for index in indices])[steps]
        places = torch.empty_like(rows).index_copy(0, rows, steps.nonzero().flatten())
        orders.append(Order([index.to(device) for index in indices], places.to(device)))
    return orders


class BiLSTM(nn.Module):
    """Layers of two LSTMs, one in reading order and one against it.

    The backward pass of torch's bidirectional LSTM would begin in the padding. Packed sequences
    avoid this, but are slow on a CPU.

    n_hidden (int): Width of the states of each direction.
    depth (int): Number of layers.
    dropout (float): Dropout rate between layers.
    n_in (Optional[int]): Width of the inputs; null is decided later, by `resize`.
    """

    first = "forwards.0.weight_ih_l0"  # whose columns are the inputs

    def __init__(self, n_hidden: int, depth: int, dropout: float, n_in: int | None = None) -> None:
        super().__init__()
        self.n_hidden, self.depth, self.n_in = n_hidden, depth, n_in
        self.forwards, self.backwards = nn.ModuleList(), nn.ModuleList()
        self.dropout = nn.Dropout(dropout)
        if n_in is not None:
            self.resize(n_in)

    def resize(self, n_in: int) -> None:
        """Draw new weights for inputs of this width."""
        self.n_in = n_in
        widths = [n_in, *[2 * self.n_hidden] * (self.depth - 1)]
        self.forwards = nn.ModuleList(nn.LSTM(width, self.n_hidden) for width in widths)
        self.backwards = nn.ModuleList(nn.LSTM(width, self.n_hidden) for width in widths)

    def forward(self, rows: Tensor, lengths: list[int]) -> Tensor:
        """Return the states of all words.

        RETURNS (Tensor): (n_tokens, 2 * n_hidden), forward and backward states.
        """
        if not len(rows):
            return rows @ rows.new_zeros(rows.shape[1], 2 * self.n_hidden)  # a gradient passes through
        forward, backward = orders_of(lengths, rows.device)
        states = rows
        for forward_lstm, backward_lstm in zip(self.forwards, self.backwards, strict=True):
            both = [_run(forward_lstm, states, forward), _run(backward_lstm, states, backward)]
            states = self.dropout(torch.cat(both, dim=1))
        return states.to(rows.dtype)


def _run(lstm: nn.Module, rows: Tensor, order: Order) -> Tensor:
    """Return the states of one direction, shape (n_tokens, n_hidden)."""
    states = []
    for index in order.indices:
        steps = rows.index_select(0, index.flatten()).view(*index.shape, -1)
        states.append(lstm(steps)[0].flatten(0, 1))
    return torch.cat(states).index_select(0, order.places)
