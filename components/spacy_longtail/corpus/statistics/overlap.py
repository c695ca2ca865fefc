"""Sentences that occur more than once: inside a part, in two parts, and with two annotations.

A sentence is known by a 64-bit hash of its case-folded words, so that a corpus costs some bytes per
sentence; the texts of the few examples are read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from thinc.types import Ints1d

from ..counts import SentenceTable, find_mentions, tabulate
from .columns import Batch, Words, stream_columns
from .records import Conflicts, Duplicates, Leakage, MarkedPlace, Repeat

N_EXAMPLES = 3
STEP = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, which scatters consecutive numbers


class SentenceKeys(NamedTuple):
    """What is remembered of sentences. Every array is (n_sentences,)."""

    words: Ints1d  # hash of the case-folded words, 0 without any
    entities: Ints1d  # hash of the entities and their places, 0 without any
    complete: Ints1d  # bool: every word is annotated


class Place(NamedTuple):
    part: str
    sentence: int  # index in the part


def _scattered(numbers: Ints1d) -> Ints1d:
    """A one-to-one map of 64-bit numbers after which sums no longer tell of similar numbers."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def sentence_keys(batch: Batch, table: SentenceTable) -> SentenceKeys:
    """The keys of the sentences of a batch. Whitespace tokens do not enter."""
    n_sentences = len(table.length)
    if not n_sentences:
        return SentenceKeys(*(np.zeros(0, dtype=kind) for kind in ("uint64", "uint64", "bool")))
    is_word = ~batch.columns.is_space
    first = np.flatnonzero(np.diff(table.sentence, prepend=-1))
    before = np.cumsum(is_word) - is_word  # words before each token
    place = (before - before[first][table.sentence]).astype("uint64")
    hashes = np.where(is_word, _scattered(batch.folded + STEP * (place + np.uint64(1))), np.uint64(0))
    start, end, label = table.mentions
    last = _scattered(label + STEP * place[end - 1])
    entities = np.zeros(n_sentences, dtype="uint64")
    np.add.at(entities, table.sentence[start], _scattered(last + STEP * place[start]))
    n_words = np.add.reduceat(is_word.astype("int64"), first)
    return SentenceKeys(np.add.reduceat(hashes, first), entities, n_words == table.length)


@dataclass
class KeyStore:
    """The keys of the sentences of a part, in order."""

    batches: list[SentenceKeys] = field(default_factory=list)

    def joined(self) -> SentenceKeys:
        """All keys as one."""
        return SentenceKeys(*(np.concatenate(column) for column in zip(*self.batches, strict=True)))


def duplicates(keys: SentenceKeys) -> tuple[int, list[tuple[int, int]]]:
    """Sentences that repeat an earlier one.

    RETURNS (Tuple[int, List[Tuple[int, int]]]): How many; index of the first and occurrences of the
        sentences that occur most often.
    """
    words = np.flatnonzero(keys.words)
    _, first, times = np.unique(keys.words[words], return_index=True, return_counts=True)
    most = np.lexsort((first, -times))[:N_EXAMPLES]
    examples = [(int(words[first[i]]), int(times[i])) for i in most if times[i] > 1]
    return int(len(words) - len(first)), examples


def leakage(keys: SentenceKeys, training: SentenceKeys) -> Ints1d:
    """Indices of the sentences that also stand in training, those with an entity first."""
    indices = np.flatnonzero(np.isin(keys.words, training.words) & (keys.words != 0))
    return indices[np.argsort(keys.entities[indices] == 0, kind="stable")]


def conflicts(parts: Mapping[str, SentenceKeys]) -> tuple[int, list[tuple[Place, Place]]]:
    """Same words, different entities. Sentences with unannotated tokens are not compared.

    RETURNS (Tuple[int, List[Tuple[Place, Place]]]): Number of texts that are annotated in more than
        one way; two places of some of them.
    """
    names = list(parts)
    words, entities, complete = (np.concatenate(column) for column in zip(*parts.values(), strict=True))
    lengths = [len(keys.words) for keys in parts.values()]
    rows = np.flatnonzero(complete & (words != 0))
    order = rows[np.lexsort((rows, entities[rows], words[rows]))]
    same = words[order][1:] == words[order][:-1]
    pairs = np.flatnonzero(same & (entities[order][1:] != entities[order][:-1]))
    _, kept = np.unique(words[order][pairs], return_index=True)
    bounds = np.cumsum(lengths)

    def place(row: int) -> Place:
        part = int(np.searchsorted(bounds, row, side="right"))
        return Place(names[part], row - int(bounds[part]) + lengths[part])

    found = sorted(sorted((int(order[i]), int(order[i + 1]))) for i in pairs[kept].tolist())
    return len(kept), [(place(a), place(b)) for a, b in found[:N_EXAMPLES]]


def sentence_texts(path: Path, wanted: Iterable[int]) -> dict[int, str]:
    """The text of some sentences of a part, entities marked up as [Oslo|GEO]."""
    left, found, n_before, words = set(wanted), {}, 0, Words()
    for batch in stream_columns(path, words) if left else ():
        table = tabulate(batch.columns)
        n_sentences = len(table.length)
        for i in sorted(i for i in left if i < n_before + n_sentences):
            first, last = np.searchsorted(table.sentence, [i - n_before, i - n_before + 1]).tolist()
            found[i] = marked_up(batch, words, first, last)
            left.discard(i)
        n_before += n_sentences
        if not left:
            break
    return found


def marked_up(batch: Batch, words: Words, first: int, last: int) -> str:
    """The text of some tokens, entities marked up as [Oslo|GEO]."""
    start, end, label = find_mentions(batch.columns)
    opens = dict.fromkeys(start.tolist(), "[")
    closes = {e: f"|{words.strings[t]}]" for e, t in zip(end.tolist(), label.tolist(), strict=True)}
    chunks = []
    for i in range(first, last):
        text, blank = words.text[batch.word[i]], " " if batch.spaced[i] else ""
        chunks.append(opens.get(i, "") + text + closes.get(i + 1, "") + blank)
    return "".join(chunks).strip().replace("\n", "\\n")  # an example is one line


class Overlaps(NamedTuple):
    duplicates: dict[str, Duplicates]  # by part
    leakage: dict[str, Leakage]  # by part
    conflicts: Conflicts


def overlaps(paths: Mapping[str, Path], stores: Mapping[str, KeyStore]) -> Overlaps:
    """Everything that occurs more than once, with examples."""
    keys = {part: store.joined() for part, store in stores.items()}
    repeated = {part: duplicates(own) for part, own in keys.items()}
    leaked = {part: leakage(own, keys["train"]) for part, own in keys.items() if part != "train"}
    n_conflicts, pairs = conflicts(keys)
    wanted: dict[str, set[int]] = {part: set() for part in keys}
    for part, (_, examples) in repeated.items():
        wanted[part].update(i for i, _ in examples)
    for part, indices in leaked.items():
        wanted[part].update(indices[:N_EXAMPLES].tolist())
    for place in (place for pair in pairs for place in pair):
        wanted[place.part].add(place.sentence)
    texts = {part: sentence_texts(path, wanted[part]) for part, path in paths.items()}
    return Overlaps(
        duplicates={
            part: Duplicates(
                sentences=n, examples=[Repeat(text=texts[part][i], times=t) for i, t in rows]
            )
            for part, (n, rows) in repeated.items()
        },
        leakage={
            part: Leakage(
                sentences=len(indices),
                entity_sentences=int(np.count_nonzero(keys[part].entities[indices])),
                share=len(indices) / max(len(keys[part].words), 1),
                examples=[texts[part][i] for i in islice(indices.tolist(), N_EXAMPLES)],
            )
            for part, indices in leaked.items()
        },
        conflicts=Conflicts(
            texts=n_conflicts,
            examples=[
                [MarkedPlace(part=p.part, text=texts[p.part][p.sentence]) for p in pair]
                for pair in pairs
            ],
        ),
    )
