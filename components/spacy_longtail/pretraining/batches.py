"""Donors as arrays of subwords, and the batches that are drawn from them."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import IterableDataset, get_worker_info

from ..corpus.formats.markup import fine_and_coarse
from ..describers.label_encoder import MOST
from ..layers.subwords import SubwordTable
from ..models.transformer import Pieces, Words
from ..types import ANNOTATED_TYPES
from .donors import Donor

POOL = 1024  # sentences that are sorted by length together
MISSING = -1  # the tag of a word without annotation
IGNORED = -100  # of a word that no loss is taken of
MOST_SUBWORDS = 128  # of a sentence
DROP_TYPES = 0.3  # share of a donor's batches that some of its types are left out of
MOST_TYPES = 300  # candidates of a batch with open types
NOTE = re.compile(r"\s*\(.*\)\s*$")  # behind a type's name


class TableCutter:
    """Cuts words into the subwords of a table, as `Pieces` does for a transformer."""

    ends: tuple[list[int], list[int]] = ([], [])

    def __init__(self, table: SubwordTable) -> None:
        self.table = table
        self.known: dict[str, list[int]] = {}

    def of(self, docs: Iterable[Doc]) -> list[Words]:
        """The subwords of each document's words. A word without any counts as one."""
        cut = []
        for doc in docs:
            words = [token.text for token in doc]
            new = [word for word in dict.fromkeys(words) if word not in self.known]
            self.known.update(zip(new, self.table.cut(new), strict=True))
            rows = [self.known[word] or [0] for word in words]
            ids = np.array([i for row in rows for i in row], dtype="int64")
            cut.append(Words(ids, np.array([len(row) for row in rows], dtype="int64")))
        return cut


Cutter = Pieces | TableCutter


class Texts:
    """Label texts, each once."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The place of a text. text (str): A description."""
        return self.place.setdefault(" ".join(text.split()), len(self.place))

    def subwords(self, tokenizer: Tokenizer) -> list[list[int]]:
        """All texts as subwords of a transformer, with special ones."""
        return [encoding.ids[:MOST] for encoding in tokenizer.encode_batch(list(self.place))]


class DonorBatch(NamedTuple):
    """Sentences of one donor, and the types that compete for them."""

    ids: Tensor  # (n_sentences, n_subwords)
    mask: Tensor
    rows: Tensor  # (n_words,)
    columns: Tensor  # (n_words,)
    words: Tensor  # (n_words,): hashes of the words
    gold: Tensor  # (n_words,): 0 for O, 1 + 2 t and 2 + 2 t for B and I of the t-th candidate
    texts: Tensor  # (n_candidates,): which of all label texts the candidates go by
    off: Tensor | None  # (n_words, n_candidates): left out of the softmax

    def to(self, device: torch.device | str) -> "DonorBatch":
        """The same batch on a device."""
        moved: list[Any] = [None if own is None else own.to(device, non_blocking=True) for own in self]
        return DonorBatch(*moved)


@dataclass
class PackedDonor:
    """Sentences of a corpus as arrays.

    texts (List[List[int]]): For each type the places of the label texts that it goes by.
    ids, first, words (List[np.ndarray]): Of each sentence the subwords; the first subword of each word;
        the hash of each word.
    tags (List[List[np.ndarray]]): Of each sentence the tags of words; with open types the fine ones,
        then the coarse ones.
    unknown (Optional[List[np.ndarray]]): Types that each sentence is not annotated for.
    weight (float): Donors are drawn in proportion to it.
    """

    name: str
    texts: list[list[int]]
    ids: list[np.ndarray]
    first: list[np.ndarray]
    words: list[np.ndarray]
    tags: list[list[np.ndarray]]
    is_open: bool
    unknown: list[np.ndarray] | None = None
    weight: float = 0.0
    order: list[list[int]] = field(default_factory=list)

    def split(self, size: int, rng: random.Random | None = None) -> list[list[int]]:
        """Batches of all sentences, of similar length. size (int): Subwords with padding."""
        order = list(range(len(self.ids)))
        if rng is not None:
            rng.shuffle(order)
        pools = [order[i : i + POOL] for i in range(0, len(order), POOL)] if rng else [order]
        batches: list[list[int]] = []
        for pool in pools:
            batch: list[int] = []
            for i in sorted(pool, key=lambda i: len(self.ids[i])):  # the last one is the longest
                if batch and len(self.ids[i]) * (len(batch) + 1) > size:
                    batches.append(batch)
                    batch = []
                batch.append(i)
            if batch:
                batches.append(batch)
        if rng is not None:
            rng.shuffle(batches)
        return batches

    def draw(self, size: int, rng: random.Random) -> list[int]:
        """The next sentences: each comes once before any comes again."""
        if not self.order:
            self.order = self.split(size, rng)
        return self.order.pop()

    def collate(self, chosen: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """ids, mask, rows, columns, words of a batch."""
        sentences = [torch.from_numpy(self.ids[i]) for i in chosen]
        ids = pad_sequence(sentences, batch_first=True)
        mask = pad_sequence([torch.ones_like(own) for own in sentences], batch_first=True)
        lengths = torch.tensor([len(self.first[i]) for i in chosen])
        rows = torch.arange(len(chosen)).repeat_interleave(lengths)
        columns, words = (
            torch.from_numpy(np.concatenate([of[i] for i in chosen])) for of in (self.first, self.words)
        )
        return ids, mask, rows, columns, words


def pack(donor: Donor, cutter: Cutter, texts: Texts) -> PackedDonor:
    """The training sentences of a donor as arrays.

    A type goes by its description, and by its name alone where that is clear. Of open types, the fine
    and the coarse ones are two annotations of one corpus.
    """
    if donor.is_open:
        forms = [[texts.add(text)] for text in donor.descriptions]
    else:
        names = [NOTE.sub("", text) for text in donor.descriptions.values()]
        times = Counter(name.casefold() for name in names)
        forms = []
        for text, name in zip(donor.descriptions.values(), names, strict=True):
            is_clear = bool(name) and times[name.casefold()] == 1
            forms.append(list(dict.fromkeys(map(texts.add, [text, name] if is_clear else [text]))))
    packed = pack_docs(donor, donor.train, cutter, forms)
    known = [doc.user_data.get(ANNOTATED_TYPES, donor.descriptions) for doc in donor.train]
    if not donor.is_open and any(len(own) < len(donor.descriptions) for own in known):
        packed.unknown = [~np.isin(list(donor.descriptions), list(own)) for own in known]
    return packed


def pack_docs(donor: Donor, docs: Sequence[Doc], cutter: Cutter, forms: list[list[int]]) -> PackedDonor:
    """Some sentences of a donor as arrays. forms (List[List[int]]): Places of its label texts."""
    places = {label: i for i, label in enumerate(donor.descriptions)}
    before, behind = cutter.ends
    room = MOST_SUBWORDS - len(before) - len(behind)
    levels: list[list[np.ndarray]] = [[], []] if donor.is_open else [[]]
    packed = PackedDonor(donor.name, forms, [], [], [], levels, donor.is_open)
    for doc, words in zip(docs, cutter.of(docs), strict=True):
        ends = np.cumsum(words.lengths)
        n = int(np.searchsorted(ends, room, side="right"))  # words
        ids = np.concatenate([before, words.ids[: ends[n - 1] if n else 0], behind])
        packed.ids.append(ids.astype("int64"))
        packed.first.append(((ends - words.lengths)[:n] + len(before)).astype("int64"))
        packed.words.append(doc.to_array(ORTH)[:n].astype("int64"))  # torch has no unsigned numbers
        labels = [ent.label_ for ent in doc.ents]
        for level, tags in enumerate(levels):
            types = [fine_and_coarse(t)[level] for t in labels] if donor.is_open else labels
            tags.append(_tags(doc, types, places)[:n])
    return packed


def _tags(doc: Doc, types: Iterable[str], places: Mapping[str, int]) -> np.ndarray:
    """0 for O, 1 + 2 t and 2 + 2 t for B and I of type t, MISSING, (n_tokens,). types: Of entities."""
    tags = np.where(doc.to_array(ENT_IOB) == 0, MISSING, 0).astype("int64")
    for ent, label in zip(doc.ents, types, strict=True):
        tags[ent.start : ent.end] = 2 + 2 * places[label]
        tags[ent.start] -= 1
    return tags


class Batches(IterableDataset):
    """Batches without an end, each of one donor. Which it is depends on the seed and its number alone.

    donors (Sequence[PackedDonor]): Drawn by their weight.
    near (np.ndarray): (n_texts, n_texts), which label texts are close to each other.
    size (int): Subwords of a batch, with padding. seed (int): Fixes all draws.
    start (int): The number of the first batch.
    """

    def __init__(
        self, donors: Sequence[PackedDonor], near: np.ndarray, size: int, seed: int, start: int = 0
    ) -> None:
        self.donors, self.near = donors, near
        self.size, self.seed, self.start = size, seed, start

    def __iter__(self) -> Iterator[DonorBatch]:
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
                yield batch_of(self.donors[i], chosen, rng, self.near)


def batch_of(
    donor: PackedDonor,
    chosen: list[int],
    rng: random.Random,
    near: np.ndarray,
    drop_types: float = DROP_TYPES,
) -> DonorBatch:
    """A batch of some sentences of a donor.

    chosen (List[int]): The sentences. rng (random.Random): Draws the candidates.
    near (np.ndarray): (n_texts, n_texts), which label texts are close to each other.
    drop_types (float): How often some types are no candidates.
    """
    level = rng.randrange(len(donor.tags))
    tags = np.concatenate([donor.tags[level][i] for i in chosen])
    lengths = [len(donor.first[i]) for i in chosen]
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    if donor.is_open:
        present = [int(t) for t in np.unique(types[types >= 0])]
        rng.shuffle(present)
        kept = sorted(present[:MOST_TYPES]) or [rng.randrange(len(donor.texts))]
    else:
        kept = list(range(len(donor.texts)))
        if len(kept) > 1 and rng.random() < drop_types:
            kept = sorted(rng.sample(kept, rng.randint(max(1, len(kept) // 3), len(kept) - 1)))
    texts = [rng.choice(donor.texts[t]) for t in kept]
    place = np.full(len(donor.texts) + 1, -1)
    place[kept] = np.arange(len(kept))
    at = place[types]
    gold = np.where(at >= 0, 1 + 2 * at + (tags + 1) % 2, np.where(tags == MISSING, IGNORED, 0))
    is_left_out = (types >= 0) & (at < 0)
    if is_left_out.any():  # its type is not a candidate: O, unless a candidate could be meant
        lost = np.unique(types[is_left_out])
        unsure = [t for t in lost if near[donor.texts[t][0]][texts].any()]
        gold[is_left_out & np.isin(types, unsure)] = IGNORED
    off = None
    if donor.unknown is not None:
        off = np.stack([donor.unknown[i][kept] for i in chosen])
    elif donor.is_open:
        off = np.stack([_near_to(own, texts, near) for own in np.split(at, np.cumsum(lengths)[:-1])])
    mask = None if off is None else torch.from_numpy(np.repeat(off, lengths, axis=0))
    return DonorBatch(*donor.collate(chosen), torch.from_numpy(gold), torch.tensor(texts), mask)


def _near_to(at: np.ndarray, texts: list[int], near: np.ndarray) -> np.ndarray:
    """Which candidates could be meant by a type of a sentence, beside that type, (n_candidates,)."""
    own = np.unique(at[at >= 0])
    is_near: Any = near[np.ix_([texts[k] for k in own], texts)].any(axis=0)
    is_near[own] = False
    return np.asarray(is_near)
