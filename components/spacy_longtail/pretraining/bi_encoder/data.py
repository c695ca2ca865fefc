"""Donors as arrays of pieces, and the batches that are drawn from them."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

POOL = 1024  # sentences that are sorted by length together
MISSING = -1  # the tag of a word without annotation
IGNORED = -100  # of a word that no loss is taken of


class Batch(NamedTuple):
    """Sentences of one donor, and the types that compete for them."""

    ids: Tensor  # (n_sentences, n_pieces)
    mask: Tensor
    rows: Tensor  # (n_words,)
    columns: Tensor  # (n_words,)
    words: Tensor  # (n_words,): hashes of the words
    gold: Tensor  # (n_words,): 0 for O, 1 + 2 t and 2 + 2 t for B and I of the t-th candidate
    texts: Tensor  # (n_candidates,): which of all label texts the candidates go by
    off: Tensor | None  # (n_words, n_candidates): left out of the softmax

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        moved = {
            name: value.to(device, non_blocking=True)
            for name, value in self._asdict().items()
            if value is not None
        }
        return self._replace(**moved)


class Donor:
    """A corpus with its own types.

    arrays (Mapping): `ids` and `sl` (pieces of sentences, and how many), `first` and `wl` (the first
        piece of words, and how many words), `words` (hashes), `tags` (of words); with open types
        `coarse` beside them.
    texts (Sequence[Sequence[int]]): For each type the label texts that it goes by.
    weight (float): Donors are drawn in proportion to it.
    """

    def __init__(
        self, name: str, arrays: Mapping[str, np.ndarray], texts: Sequence[Sequence[int]], weight: float
    ) -> None:
        self.name, self.texts, self.weight = name, texts, weight
        by_piece = np.cumsum(arrays["sl"].astype("int64"))[:-1]
        by_word = np.cumsum(arrays["wl"].astype("int64"))[:-1]
        self.ids = np.split(arrays["ids"].astype("int64"), by_piece)
        self.first = np.split(arrays["first"].astype("int64"), by_word)
        self.words = np.split(arrays["words"], by_word)
        self.tags = [np.split(arrays["tags"].astype("int64"), by_word)]
        if "coarse" in arrays:
            self.tags.append(np.split(arrays["coarse"].astype("int64"), by_word))
        self.is_open = "coarse" in arrays
        self.unknown: list[np.ndarray] | None = None  # types that each sentence is not annotated for
        self.order: list[list[int]] = []

    def split(
        self, size: int, rng: random.Random | None = None, most: int | None = None
    ) -> list[list[int]]:
        """Batches of all sentences, of sentences of similar length.

        size (int): Pieces with padding. most (Optional[int]): Sentences, at most.
        """
        order = list(range(len(self.ids)))[:most]
        if rng is not None:
            rng.shuffle(order)
        pools = [order[i : i + POOL] for i in range(0, len(order), POOL)] if rng else [order]
        found: list[list[int]] = []
        for pool in pools:
            batch: list[int] = []
            longest = 0
            for i in sorted(pool, key=lambda i: len(self.ids[i])):
                longest = max(longest, len(self.ids[i]))
                if batch and longest * (len(batch) + 1) > size:
                    found.append(batch)
                    batch, longest = [], len(self.ids[i])
                batch.append(i)
            if batch:
                found.append(batch)
        if rng is not None:
            rng.shuffle(found)
        return found

    def draw(self, size: int, rng: random.Random) -> list[int]:
        """The next sentences: each comes once before any comes again."""
        if not self.order:
            self.order = self.split(size, rng)
        return self.order.pop()

    def collate(self, chosen: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """ids, mask, rows, columns, words of a batch."""
        width = max(len(self.ids[i]) for i in chosen)
        ids = torch.zeros((len(chosen), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chosen):
            ids[row, : len(self.ids[i])] = torch.from_numpy(self.ids[i])
            mask[row, : len(self.ids[i])] = 1
        lengths = torch.tensor([len(self.first[i]) for i in chosen])
        rows = torch.arange(len(chosen)).repeat_interleave(lengths)
        columns, words = (
            torch.from_numpy(np.concatenate([of[i] for i in chosen])) for of in (self.first, self.words)
        )
        return ids, mask, rows, columns, words


class Options(NamedTuple):
    """How candidates are chosen."""

    drop_types: float = 0.3  # share of a donor's batches that some of its types are left out of
    most: int = 300  # candidates of a batch with open types


DEFAULT = Options()


class Batches(IterableDataset):
    """Batches without an end, each of one donor. Which it is depends on the seed and its number alone.

    donors (Sequence[Donor]): Drawn by their weight.
    near (np.ndarray): (n_texts, n_texts), which label texts are close to each other.
    size (int): Pieces of a batch, with padding. seed (int): Fixes all draws.
    start (int): The number of the first batch.
    """

    def __init__(
        self,
        donors: Sequence[Donor],
        near: np.ndarray,
        size: int,
        seed: int,
        start: int = 0,
        options: Options = DEFAULT,
    ) -> None:
        self.donors, self.near = donors, near
        self.size, self.seed, self.start, self.options = size, seed, start, options

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()  # torch takes batches of its workers in turn
        own, n = (worker.id, worker.num_workers) if worker else (0, 1)
        weights = [donor.weight for donor in self.donors]
        orders = [random.Random(f"{self.seed}-{donor.name}") for donor in self.donors]
        for donor in self.donors:
            donor.order = []
        for number in count():
            rng = random.Random(f"{self.seed}-{number}")
            i = rng.choices(range(len(weights)), weights)[0]
            chosen = self.donors[i].draw(self.size, orders[i])  # those before `start`, too
            if number >= self.start and (number - self.start) % n == own:
                yield batch_of(self.donors[i], chosen, rng, self.near, self.options)


def batch_of(
    donor: Donor,
    chosen: list[int],
    rng: random.Random,
    near: np.ndarray,
    options: Options,
) -> Batch:
    """A batch of some sentences of a donor. Arguments as `Batches` has them."""
    level = rng.randrange(len(donor.tags))
    tags = np.concatenate([donor.tags[level][i] for i in chosen])
    lengths = [len(donor.first[i]) for i in chosen]
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    if donor.is_open:
        present = [int(t) for t in np.unique(types[types >= 0])]
        rng.shuffle(present)
        kept = sorted(present[: options.most]) or [rng.randrange(len(donor.texts))]
    else:
        kept = list(range(len(donor.texts)))
        if len(kept) > 1 and rng.random() < options.drop_types:
            kept = sorted(rng.sample(kept, rng.randint(max(1, len(kept) // 3), len(kept) - 1)))
    texts = [rng.choice(donor.texts[t]) for t in kept]
    place = np.full(len(donor.texts) + 1, -1)
    place[kept] = np.arange(len(kept))
    at = place[types]
    gold = np.where(at >= 0, 1 + 2 * at + (tags + 1) % 2, np.where(tags == MISSING, IGNORED, 0))
    is_left_out = (types >= 0) & (at < 0)
    if is_left_out.any():  # its type is not a candidate: O, unless a candidate could be meant
        lost = {int(t): near[donor.texts[t][0]][texts].any() for t in np.unique(types[is_left_out])}
        unsure = np.array([t for t, is_near in lost.items() if is_near], dtype="int64")
        gold[is_left_out & np.isin(types, unsure)] = IGNORED
    off = None
    if donor.unknown is not None:
        rows = np.stack([donor.unknown[i][kept] for i in chosen])
        off = torch.from_numpy(np.repeat(rows, lengths, axis=0))
    elif donor.is_open:
        rows = np.zeros((len(chosen), len(kept)), dtype=bool)
        start = 0
        for row, n in enumerate(lengths):
            own = np.unique(at[start : start + n])
            own = own[own >= 0]
            start += n
            if len(own):
                rows[row] = near[np.ix_([texts[k] for k in own], texts)].any(axis=0)
                rows[row, own] = False
        off = torch.from_numpy(np.repeat(rows, lengths, axis=0))
    return Batch(*donor.collate(chosen), torch.from_numpy(gold), torch.tensor(texts), off)
