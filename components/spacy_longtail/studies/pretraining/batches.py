"""The order in which donors are trained on: a function of the seed alone, so that it can be resumed."""

from collections.abc import Iterator, Sequence

import numpy as np

Batch = tuple[int, list[int]]  # the donor, and which of its sentences


def batches(
    lengths: Sequence[Sequence[int]], n_words: int, power: float, seed: int, start: int = 0
) -> Iterator[Batch]:
    """Batches without an end, each of one donor.

    A donor is drawn with a probability proportional to its number of sentences to a power; within it
    each sentence comes once before any comes again.

    lengths (Sequence[Sequence[int]]): Tokens of each sentence, by donor.
    n_words (int): Tokens of a batch, at most, except for one sentence that is longer.
    power (float): 1 draws by size, 0 draws all donors equally.
    seed (int): Fixes all draws. start (int): Batches to leave out at the beginning.
    YIELDS (Tuple[int, List[int]]): The donor's index, and its sentences'.
    """
    sizes = np.array([len(own) for own in lengths], dtype="float64")
    share = sizes**power / (sizes**power).sum()
    drawn = np.random.default_rng([seed, len(lengths)])
    streams = [_stream(own, n_words, [seed, i]) for i, own in enumerate(lengths)]
    step = 0
    while True:
        i = int(drawn.choice(len(share), p=share))
        chosen = next(streams[i])
        if step >= start:
            yield i, chosen
        step += 1


def _stream(lengths: Sequence[int], n_words: int, seed: list[int]) -> Iterator[list[int]]:
    rng = np.random.default_rng([*seed, 1])
    batch: list[int] = []
    total = 0
    while True:
        for i in rng.permutation(len(lengths)).tolist():
            if batch and total + lengths[i] > n_words:
                yield batch
                batch, total = [], 0
            batch.append(i)
            total += lengths[i]
