"""Donors as arrays of subwords, and the batches that are sampled from them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, count
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import IterableDataset, get_worker_info

from ..corpus.formats.inline import fine_and_coarse
from ..layers.quantized import EightBit
from ..layers.subword_tokenizer import SubwordTokenizer, WordSubwords
from ..layers.subwords import SubwordTable
from ..settings import unused
from ..types import ANNOTATED_TYPES
from .donors import MIXED, Donor

POWER = 0.5  # donors are sampled in proportion to this power of their number of sentences
OPEN_SHARE = 0.6  # fraction of the batches with free-text types
POOL_SIZE = 1024  # number of sentences that are sorted by length together
MISSING = -1  # tag of a word without annotation
MASKED = -1e4  # logit of a masked type
IGNORED = -100  # gold index of a word that the loss ignores
MAX_SUBWORDS = 128  # per sentence
DROP_RATE = 0.3  # fraction of a donor's batches in which some of its types do not compete
MAX_TYPES = 300  # number of competing types in a batch with free-text types
NOTE = re.compile(r"\s*\(.*\)\s*$")  # explanation in brackets after the name of a type


class TableCutter:
    """Splits words into the subwords of a CNN's table, with the interface of `SubwordTokenizer`.

    table (SubwordTable): The subwords.
    """

    ends: tuple[list[int], list[int]] = ([], [])  # a CNN needs no special subwords

    def __init__(self, table: SubwordTable) -> None:
        self.cut = cache(lambda word: table.cut([word])[0] or [0])

    def of(self, docs: Iterable[Doc]) -> Iterator[WordSubwords]:
        """Yield the subwords of each document's words; the first one for words without any."""
        for doc in docs:
            rows = [self.cut(token.text) for token in doc]
            ids = np.array([*chain.from_iterable(rows)], dtype="int64")
            yield WordSubwords(ids, np.array([*map(len, rows)], dtype="int64"))


Cutter = SubwordTokenizer | TableCutter


class Sentence(NamedTuple):
    """Sentence of a donor."""

    ids: np.ndarray  # subwords, shape (n_subwords,)
    first: np.ndarray  # position of each word's first subword, shape (n_words,)
    words: np.ndarray  # hashes of the words, shape (n_words,)
    tags: list[np.ndarray]  # shape (n_words,); of free-text types the fine and the coarse tags
    unannotated: np.ndarray  # whether each type was not annotated, shape (n_types,), or empty
    start: int  # place of the first word among the words of the donor's part


@dataclass
class PackedDonor:
    """Sentences of a donor as arrays."""

    name: str
    is_open: bool  # whether types are free text
    label_ids: list[list[int]]  # for each type, the numbers of the label texts that describe it
    train: list[Sentence]
    dev: list[Sentence]
    weight: float = 0.0  # donors are sampled in proportion to it
    teacher_states: EightBit | None = None  # of the words of `train`, if stored
    has_teacher: bool = False  # whether a teacher reads the donor's language


class TrainingData(NamedTuple):
    """Donors, packed as arrays from which a learner trains."""

    donors: list[Donor]
    packed: list[PackedDonor]
    label_texts: dict[str, int]  # distinct label texts with their numbers


def pack_donors(
    donors: list[Donor], cutter: Cutter, share: float | None = None, teacher_lang: str | None = None
) -> TrainingData:
    """Return donors as arrays.

    donors (List[Donor]): The donors.
    cutter (Cutter): Splits words into subwords.
    share (Optional[float]): Fraction of the batches with free-text types; null is 0.6.
    teacher_lang (Optional[str]): Language of a teacher.
    RAISES (ValueError): If a share is given and all donors are of one kind (L213).
    """
    label_texts: dict[str, int] = {}
    packed = [pack_donor(donor, cutter, label_texts, teacher_lang) for donor in donors]
    _set_sampling_weights(packed, share)
    return TrainingData(donors, packed, label_texts)


def _set_sampling_weights(packed: list[PackedDonor], share: float | None) -> None:
    """Set the weights by which donors are sampled, within the share of free-text or other types."""
    kinds = [[donor for donor in packed if donor.is_open == is_open] for is_open in (True, False)]
    is_mixed = all(kinds)
    if share is not None and not is_mixed:
        raise unused(
            "--share",
            share,
            who="`pretrain`",
            where="donors of both kinds, with and without free-text types",
        )
    share = OPEN_SHARE if share is None else share
    for donors, fraction in zip(kinds, (share, 1 - share), strict=True):
        sizes = [len(donor.train) ** POWER for donor in donors]
        for donor, size in zip(donors, sizes, strict=True):
            donor.weight = size / sum(sizes) * (fraction if is_mixed else 1.0)


def pack_donor(
    donor: Donor, cutter: Cutter, label_texts: dict[str, int], teacher_lang: str | None = None
) -> PackedDonor:
    """Return a donor as arrays.

    The label texts of a type are its descriptions, and its name alone if no other type has it.
    Fine and coarse free-text types are two annotations of the same sentences.

    donor (Donor): The donor.
    cutter (Cutter): Splits words into subwords.
    label_texts (Dict[str, int]): Label texts of all donors with their numbers; new ones are added.
    teacher_lang (Optional[str]): Language of a teacher.
    """
    names = {label: NOTE.sub("", text) for label, text in donor.descriptions.items()}
    counts = Counter(name.casefold() for name in names.values())
    label_ids = []
    for label, text in donor.descriptions.items():
        forms, name = [text, *donor.other_descriptions.get(label, ())], names[label]
        if name and counts[name.casefold()] == 1 and not donor.is_open:
            forms.insert(1, name)
        distinct = dict.fromkeys(" ".join(form.split()) for form in forms)
        label_ids.append([label_texts.setdefault(form, len(label_texts)) for form in distinct])
    return PackedDonor(
        name=donor.name,
        is_open=donor.is_open,
        label_ids=label_ids,
        train=_pack_sentences(donor, donor.train, cutter),
        dev=_pack_sentences(donor, donor.dev, cutter),
        has_teacher=teacher_lang in (donor.lang, MIXED),
    )


def _pack_sentences(donor: Donor, docs: Sequence[Doc], cutter: Cutter) -> list[Sentence]:
    """Return sentences as arrays, without words after the first `MAX_SUBWORDS` subwords."""
    types = list(donor.descriptions)
    indices = {label: i for i, label in enumerate(types)}
    before, after = cutter.ends
    limit = MAX_SUBWORDS - len(before) - len(after)
    sentences: list[Sentence] = []
    start = 0
    for doc, words in zip(docs, cutter.of(docs), strict=True):
        ends = np.cumsum(words.lengths)
        n_words = int(np.searchsorted(ends, limit, side="right"))
        ids = np.concatenate([before, words.ids[: ends[n_words - 1] if n_words else 0], after])
        first = ((ends - words.lengths)[:n_words] + len(before)).astype("int64")
        tags = []
        for level in (0, 1) if donor.is_open else (None,):
            row = np.where(doc.to_array(ENT_IOB) == 0, MISSING, 0).astype("int64")
            for ent in doc.ents:
                label = ent.label_ if level is None else fine_and_coarse(ent.label_)[level]
                row[ent.start : ent.end] = 2 + 2 * indices[label]
                row[ent.start] -= 1
            tags.append(row[:n_words])
        known = types if donor.is_open else doc.user_data.get(ANNOTATED_TYPES, types)
        sentences.append(
            Sentence(
                ids=ids.astype("int64"),
                first=first,
                words=doc.to_array(ORTH)[:n_words].astype("int64"),  # torch has no unsigned integers
                tags=tags,
                unannotated=np.array([] if known == types else ~np.isin(types, known), dtype=bool),
                start=start,
            )
        )
        start += n_words
    return sentences


def places_of(sentences: Iterable[Sentence]) -> np.ndarray:
    """Return the index of each word of the sentences in its donor's part, shape (n_words,)."""
    return np.concatenate([np.arange(s.start, s.start + len(s.first)) for s in sentences])


class DonorBatch(NamedTuple):
    """Batch of sentences of one donor, with the candidate types of their words."""

    ids: Tensor  # subwords, shape (n_sentences, n_subwords)
    mask: Tensor  # 0 for padding, same shape
    sentences: Tensor  # index of each word's sentence, shape (n_words,)
    first: Tensor  # position of each word's first subword, shape (n_words,)
    words: Tensor  # hashes of the words, shape (n_words,)
    gold: Tensor  # 0 for O, 1 + 2t for B and 2 + 2t for I of competing type t, shape (n_words,)
    label_ids: Tensor  # number of each competing type's label text, shape (n_types,)
    is_masked: Tensor  # whether a type does not compete for a word, shape (n_words, n_types)
    # stored states of a teacher, shape (n_words, hidden); (n_words, 0) if they are not stored, and
    # (0, 0) if the teacher does not read the language
    teacher_states: Tensor

    def to(self, device: torch.device | str) -> "DonorBatch":
        """Return the batch on a device."""
        return DonorBatch(*(tensor.to(device, non_blocking=True) for tensor in self))

    def masked(self, logits: Tensor) -> Tensor:
        """Return logits in which types that do not compete for a word are masked.

        logits (Tensor): Those of O, and of B and I of each type, shape (n_words, 1 + 2 * n_types).
        """
        is_masked = functional.pad(self.is_masked.repeat_interleave(2, dim=1), (1, 0))
        return logits.masked_fill(is_masked, MASKED)


def collate(
    sentences: Sequence[Sentence],
    gold: np.ndarray,
    label_ids: np.ndarray,
    is_masked: np.ndarray,
    teacher_states: np.ndarray,
) -> DonorBatch:
    """Return sentences as one batch. The other arguments are fields of the batch."""
    ids = [torch.from_numpy(sentence.ids) for sentence in sentences]
    padded, mask = (pad_sequence(t, batch_first=True) for t in (ids, [*map(torch.ones_like, ids)]))
    lengths = torch.tensor([len(sentence.first) for sentence in sentences])
    return DonorBatch(
        ids=padded,
        mask=mask,
        sentences=torch.arange(len(sentences)).repeat_interleave(lengths),
        first=torch.from_numpy(np.concatenate([sentence.first for sentence in sentences])),
        words=torch.from_numpy(np.concatenate([sentence.words for sentence in sentences])),
        gold=torch.from_numpy(gold),
        label_ids=torch.from_numpy(label_ids),
        is_masked=torch.from_numpy(is_masked),
        teacher_states=torch.from_numpy(teacher_states),
    )


def batch_without_gold(sentences: Sequence[Sentence], label_ids: Iterable[int] = ()) -> DonorBatch:
    """Return sentences as a batch without gold tags.

    sentences (Sequence[Sentence]): The sentences.
    label_ids (Iterable[int]): Numbers of label texts.
    """
    ids, none = np.array([*label_ids], dtype="int64"), np.zeros((0, 0))
    return collate(sentences, none[0:0], ids, none, none)


class Batches(IterableDataset):
    """Endless stream of batches.

    Each batch has sentences of one donor and is determined by the seed and its number, so that a
    resumed run gets the same batches.

    donors (Sequence[PackedDonor]): The donors.
    similar (np.ndarray): Whether label texts are similar, shape (n_texts, n_texts).
    size (int): Maximum number of subwords in a batch, padding included.
    seed (int): Random seed.
    start (int): Number of the first batch.
    """

    def __init__(
        self, donors: Sequence[PackedDonor], similar: np.ndarray, size: int, seed: int, start: int = 0
    ) -> None:
        self.donors, self.similar = donors, similar
        self.size, self.seed, self.start = size, seed, start

    def __iter__(self) -> Iterator[DonorBatch]:
        worker = get_worker_info()  # torch takes the batches of its workers in turn
        turn, n = (worker.id, worker.num_workers) if worker else (0, 1)
        weights = [donor.weight for donor in self.donors]
        streams = [self._stream(i) for i in range(len(self.donors))]
        for number in count():
            rng = Random(f"{self.seed}-{number}")
            i = rng.choices(range(len(weights)), weights)[0]
            sentences = next(streams[i])  # also of batches before `start`, to advance the stream
            if number >= self.start and (number - self.start) % n == turn:
                yield sample_batch(self.donors[i], sentences, rng, self.similar)

    def _stream(self, i: int) -> Iterator[list[Sentence]]:
        """Yield sentences of similar length. All have been yielded once before any is repeated."""
        rng = Random(f"{self.seed}-donor-{i}")  # not by its name: its folder may be renamed
        while True:
            order = list(self.donors[i].train)
            rng.shuffle(order)
            batches: list[list[Sentence]] = []
            for start in range(0, len(order), POOL_SIZE):
                batches.append([])
                for sentence in sorted(order[start : start + POOL_SIZE], key=lambda s: len(s.ids)):
                    if batches[-1] and len(sentence.ids) * (len(batches[-1]) + 1) > self.size:
                        batches.append([])  # the last sentence of a batch is its longest
                    batches[-1].append(sentence)
            rng.shuffle(batches)
            yield from reversed(batches)  # recorded runs had this order


def sample_batch(
    donor: PackedDonor,
    sentences: list[Sentence],
    rng: Random,
    similar: np.ndarray,
    drop_rate: float = DROP_RATE,
) -> DonorBatch:
    """Return a batch of sentences, with a random choice of the types that compete.

    donor (PackedDonor): The donor.
    sentences (List[Sentence]): Sentences of its training part.
    rng (Random): Random generator.
    similar (np.ndarray): Whether label texts are similar, shape (n_texts, n_texts).
    drop_rate (float): Probability that some of the donor's types do not compete.
    """
    n_types = len(donor.label_ids)
    level = rng.randrange(len(sentences[0].tags))
    tags = np.concatenate([sentence.tags[level] for sentence in sentences])
    lengths = [len(sentence.first) for sentence in sentences]
    types = np.where(tags > 0, (tags - 1) // 2, -1)
    if donor.is_open:
        present = np.unique(types[types >= 0]).tolist()
        rng.shuffle(present)
        kept = sorted(present[:MAX_TYPES]) or [rng.randrange(n_types)]
    else:
        kept = list(range(n_types))
        if n_types > 1 and rng.random() < drop_rate:
            kept = sorted(rng.sample(kept, rng.randint(max(1, n_types // 3), n_types - 1)))
    label_ids = np.array([rng.choice(donor.label_ids[t]) for t in kept])
    places = np.full(n_types + 1, -1)  # the last entry is that of O
    places[kept] = np.arange(len(kept))
    at = places[types]
    gold = np.where(at >= 0, 1 + 2 * at + (tags + 1) % 2, np.where(tags == MISSING, IGNORED, 0))
    is_dropped = (types >= 0) & (at < 0)
    if is_dropped.any():  # O, unless a competing type could be meant as well
        unsure = [
            t for t in np.unique(types[is_dropped]) if similar[donor.label_ids[t][0]][label_ids].any()
        ]
        gold[is_dropped & np.isin(types, unsure)] = IGNORED
    is_masked = np.zeros((len(sentences), len(kept)), dtype=bool)
    for row, sentence, own in zip(
        is_masked, sentences, np.split(at, np.cumsum(lengths)[:-1]), strict=True
    ):
        if donor.is_open:  # mask what could be meant by a type of the sentence, except that type
            mentioned = np.unique(own[own >= 0])
            row[:] = similar[np.ix_(label_ids[mentioned], label_ids)].any(axis=0)
            row[mentioned] = False
        elif len(sentence.unannotated):
            row[:] = sentence.unannotated[kept]
    states = np.zeros((len(tags) if donor.has_teacher else 0, 0), dtype="float32")
    if donor.teacher_states is not None:
        words = places_of(sentences)
        states = EightBit(*(array[words] for array in donor.teacher_states)).expand()
    return collate(sentences, gold, label_ids, np.repeat(is_masked, lengths, axis=0), states)
