"""Donors as arrays of subwords, and the batches that are drawn from them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, count
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import IterableDataset, get_worker_info

from ..corpus.formats.open_types import fine_and_coarse
from ..layers.pieces import Pieces, Words
from ..layers.subwords import SubwordTable
from ..types import ANNOTATED_TYPES
from .donors import Donor

POOL = 1024  # sentences that are sorted by length together
MISSING = -1  # the tag of a word without annotation
IGNORED = -100  # of a word that no loss is taken of
MOST_SUBWORDS = 128  # of a sentence
DROPPED = 0.3  # share of a donor's batches that some of its types are left out of
MOST_TYPES = 300  # candidates of a batch with open types
NOTE = re.compile(r"\s*\(.*\)\s*$")  # behind a type's name


class TableCutter:
    """Cuts words into the subwords of a table, as `Pieces` does for a transformer."""

    ends: tuple[list[int], list[int]] = ([], [])

    def __init__(self, table: SubwordTable) -> None:
        self.cut = cache(lambda word: table.cut([word])[0] or [0])

    def of(self, docs: Iterable[Doc]) -> Iterator[Words]:
        """The subwords of each document's words. A word without any counts as one."""
        for doc in docs:
            rows = [self.cut(token.text) for token in doc]
            ids = np.array([*chain.from_iterable(rows)], dtype="int64")
            yield Words(ids, np.array([*map(len, rows)], dtype="int64"))


Cutter = Pieces | TableCutter


class Sentence(NamedTuple):
    """A sentence of a donor."""

    ids: np.ndarray  # (n_subwords,)
    first: np.ndarray  # (n_words,), the first subword of each
    words: np.ndarray  # (n_words,), hashes
    tags: list[np.ndarray]  # (n_words,); with open types the fine ones, then the coarse ones
    unknown: np.ndarray  # (n_types,), the types that nobody looked for; with open types (0,)


@dataclass
class PackedDonor:
    """The sentences of a donor as arrays."""

    name: str
    is_open: bool
    texts: list[list[int]]  # for each type the places of the label texts that it goes by
    train: list[Sentence]
    dev: list[Sentence]
    weight: float = 0.0  # donors are drawn in proportion to it


def pack(donor: Donor, cutter: Cutter, texts: dict[str, int]) -> PackedDonor:
    """A donor as arrays.

    A type goes by its description, and by its name alone where that is clear. Of open types, the
    fine and the coarse ones are two annotations of one corpus.
    """
    names = {text: NOTE.sub("", text) for text in donor.descriptions.values()}
    times = Counter(name.casefold() for name in names.values())
    places = []
    for text, name in names.items():
        is_clear = bool(name) and times[name.casefold()] == 1 and not donor.is_open
        forms = dict.fromkeys(" ".join(form.split()) for form in ([text, name] if is_clear else [text]))
        places.append([texts.setdefault(form, len(texts)) for form in forms])
    train, dev = (_pack(donor, docs, cutter) for docs in (donor.train, donor.dev))
    return PackedDonor(donor.name, donor.is_open, places, train, dev)


def _pack(donor: Donor, docs: Sequence[Doc], cutter: Cutter) -> list[Sentence]:
    types = list(donor.descriptions)
    places = {label: i for i, label in enumerate(types)}
    before, behind = cutter.ends
    room = MOST_SUBWORDS - len(before) - len(behind)
    sentences = []
    for doc, words in zip(docs, cutter.of(docs), strict=True):
        ends = np.cumsum(words.lengths)
        n = int(np.searchsorted(ends, room, side="right"))  # words
        ids = np.concatenate([before, words.ids[: ends[n - 1] if n else 0], behind]).astype("int64")
        first = ((ends - words.lengths)[:n] + len(before)).astype("int64")
        hashes = doc.to_array(ORTH)[:n].astype("int64")  # torch has no unsigned numbers
        tags = []
        for level in (0, 1) if donor.is_open else (None,):
            row = np.where(doc.to_array(ENT_IOB) == 0, MISSING, 0).astype("int64")
            for ent in doc.ents:
                label = ent.label_ if level is None else fine_and_coarse(ent.label_)[level]
                row[ent.start : ent.end] = 2 + 2 * places[label]
                row[ent.start] -= 1
            tags.append(row[:n])
        known = types if donor.is_open else doc.user_data.get(ANNOTATED_TYPES, types)
        unknown = np.array([] if known == types else ~np.isin(types, known), dtype=bool)
        sentences.append(Sentence(ids, first, hashes, tags, unknown))
    return sentences


class DonorBatch(NamedTuple):
    """Sentences of one donor, and the types that compete for them."""

    ids: Tensor  # (n_sentences, n_subwords)
    mask: Tensor
    rows: Tensor  # (n_words,)
    columns: Tensor  # (n_words,)
    words: Tensor  # (n_words,): hashes of the words
    gold: Tensor  # (n_words,): 0 for O, 1 + 2 t and 2 + 2 t for B and I of the t-th candidate
    texts: Tensor  # (n_candidates,): which of all label texts the candidates go by
    off: Tensor  # (n_words, n_candidates): left out of the softmax

    def to(self, device: torch.device | str) -> "DonorBatch":
        """The same batch on a device."""
        return DonorBatch(*(tensor.to(device, non_blocking=True) for tensor in self))


def collate(sentences: list[Sentence], *of_words: np.ndarray) -> DonorBatch:
    """Sentences side by side. of_words (np.ndarray): `gold`, `texts` and `off` of the batch."""
    ids = [torch.from_numpy(sentence.ids) for sentence in sentences]
    padded, mask = (pad_sequence(t, batch_first=True) for t in (ids, [*map(torch.ones_like, ids)]))
    lengths = torch.tensor([len(sentence.first) for sentence in sentences])
    rows = torch.arange(len(sentences)).repeat_interleave(lengths)
    columns = np.concatenate([sentence.first for sentence in sentences])
    words = np.concatenate([sentence.words for sentence in sentences])
    others: list[Any] = [torch.from_numpy(array) for array in (columns, words, *of_words)]
    return DonorBatch(padded, mask, rows, *others)


class Batches(IterableDataset):
    """Batches without an end, each of one donor, which depends on the seed and its number alone.

    near (np.ndarray): (n_texts, n_texts), which label texts are close to each other.
    """

    def __init__(
        self, donors: Sequence[PackedDonor], near: np.ndarray, size: int, seed: int, start: int = 0
    ) -> None:
        self.donors, self.near = donors, near
        self.size, self.seed, self.start = size, seed, start

    def __iter__(self) -> Iterator[DonorBatch]:
        worker = get_worker_info()  # torch takes batches of its workers in turn
        turn, n = (worker.id, worker.num_workers) if worker else (0, 1)
        weights = [donor.weight for donor in self.donors]
        streams = [self._stream(donor) for donor in self.donors]
        for number in count():
            rng = Random(f"{self.seed}-{number}")
            i = rng.choices(range(len(weights)), weights)[0]
            sentences = next(streams[i])  # those before `start`, too
            if number >= self.start and (number - self.start) % n == turn:
                yield batch_of(self.donors[i], sentences, rng, self.near)

    def _stream(self, donor: PackedDonor) -> Iterator[list[Sentence]]:
        """Sentences of similar length: each comes once before any comes again."""
        rng = Random(f"{self.seed}-{donor.name}")
        while True:
            order = list(donor.train)
            rng.shuffle(order)
            batches: list[list[Sentence]] = []
            for start in range(0, len(order), POOL):
                batches.append([])
                for sentence in sorted(order[start : start + POOL], key=lambda s: len(s.ids)):
                    if batches[-1] and len(sentence.ids) * (len(batches[-1]) + 1) > self.size:
                        batches.append([])  # the last one of a batch is the longest
                    batches[-1].append(sentence)
            rng.shuffle(batches)
            yield from reversed(batches)


def batch_of(
    donor: PackedDonor, sentences: list[Sentence], rng: Random, near: np.ndarray, drop: float = DROPPED
) -> DonorBatch:
    """A batch of some sentences of a donor. near (np.ndarray): As in `Batches`."""
    n_types = len(donor.texts)
    level = rng.randrange(len(sentences[0].tags))
    tags = np.concatenate([sentence.tags[level] for sentence in sentences])
    lengths = [len(sentence.first) for sentence in sentences]
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    if donor.is_open:
        present = np.unique(types[types >= 0]).tolist()
        rng.shuffle(present)
        kept = sorted(present[:MOST_TYPES]) or [rng.randrange(n_types)]
    else:
        kept = list(range(n_types))
        if n_types > 1 and rng.random() < drop:
            kept = sorted(rng.sample(kept, rng.randint(max(1, n_types // 3), n_types - 1)))
    texts = np.array([rng.choice(donor.texts[t]) for t in kept])
    place = np.full(n_types + 1, -1)
    place[kept] = np.arange(len(kept))
    at = place[types]
    gold = np.where(at >= 0, 1 + 2 * at + (tags + 1) % 2, np.where(tags == MISSING, IGNORED, 0))
    is_left_out = (types >= 0) & (at < 0)
    if is_left_out.any():  # its type is not a candidate: O, unless a candidate could be meant
        unsure = [t for t in np.unique(types[is_left_out]) if near[donor.texts[t][0]][texts].any()]
        gold[is_left_out & np.isin(types, unsure)] = IGNORED
    off = np.zeros((len(sentences), len(kept)), dtype=bool)
    for row, sentence, labels in zip(off, sentences, np.split(at, np.cumsum(lengths)[:-1]), strict=True):
        if donor.is_open:  # what could be meant by a type of the sentence, beside that type
            mentioned = np.unique(labels[labels >= 0])
            row[:] = near[np.ix_(texts[mentioned], texts)].any(axis=0)
            row[mentioned] = False
        elif len(sentence.unknown):
            row[:] = sentence.unknown[kept]
    return collate(sentences, gold, texts, np.repeat(off, lengths, axis=0))
