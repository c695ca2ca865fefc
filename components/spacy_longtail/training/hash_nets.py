"""Small nets over words: how they are trained, and put into few bytes."""

from collections.abc import Callable
from functools import partial

import numpy as np
from thinc.api import Adam, HashEmbed, Model, Relu, chain, fix_random_seed, uniform_init, warmup_linear
from thinc.types import Floats2d, Ints1d
from tqdm import tqdm

from ..layers.hash_net import HASHES, HashNet

BATCH = 4096
LEARN_RATE = 0.02
SPREAD = 0.5  # of the table at first

# of a batch's words and the net's outputs for them
Gradient = Callable[[Ints1d, Floats2d], Floats2d]


def learn_net(
    hashes: Ints1d,
    gradient: Gradient,
    last: Callable[[], Model[Floats2d, Floats2d]],
    *,
    n_rows: int,
    width: int,
    n_hidden: int,
    epochs: int,
    seed: int,
) -> Model[Ints1d, Floats2d]:
    """Train a net, with a progress bar.

    hashes (Ints1d): (n_words,) uint64, of words in lower case.
    gradient (Callable[[Ints1d, Floats2d], Floats2d]): Of the loss of some words, (n,) indices, on the
        net's outputs for them, (n, n_outputs).
    last (Callable[[], Model]): The output layer. n_rows (int): Of the table. width (int): Of it.
    n_hidden (int): Width of the hidden layer. epochs (int): Passes over the words.
    seed (int): Of weights and of the order.
    """
    fix_random_seed(seed)  # thinc's layers draw their weights from numpy's own state
    spread = partial(uniform_init, lo=-SPREAD, hi=SPREAD)
    table = HashEmbed(width, n_rows, seed=HASHES, dropout=0.0, initializer=spread)
    net: Model[Ints1d, Floats2d] = chain(table, Relu(n_hidden, width), last())
    net.initialize()
    n_steps = epochs * -(-len(hashes) // BATCH)
    rates = warmup_linear(LEARN_RATE, n_steps // 4, n_steps)
    optimizer = Adam(rates, L2=0.0, grad_clip=0.0, use_averages=False)
    rng = np.random.default_rng(seed)
    for _ in tqdm(range(epochs), "Learning", unit="epoch", disable=None):
        order = rng.permutation(len(hashes))
        for batch in np.array_split(order, -(-len(order) // BATCH)):
            outputs, backprop = net.begin_update(hashes[batch])
            backprop(gradient(batch, outputs))
            net.finish_update(optimizer)
            optimizer.step_schedules()
    return net


def in_few_bytes(net: Model[Ints1d, Floats2d]) -> HashNet:
    """The net with eight bits for a number of the table, and sixteen for the rest."""
    table, hidden, output = net.layers
    E = table.get_param("E")
    scale = np.abs(E).max() / 127
    hidden_W, hidden_b, output_W, output_b = (
        layer.get_param(name).astype("float16") for layer in (hidden, output) for name in ("W", "b")
    )
    return HashNet(
        table=np.round(E / scale).astype("int8"),
        scale=np.array([scale], dtype="float32"),
        hidden=hidden_W,
        hidden_bias=hidden_b,
        output=output_W,
        output_bias=output_b,
    )
