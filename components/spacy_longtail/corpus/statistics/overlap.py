"""Sentences that occur more than once: inside a part, in two parts, and with two annotations.

A sentence is known by a hash of its words; the texts of the few examples are read again.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..counts import entity_bounds
from .records import Conflicts, Duplicates, Leakage, MarkedPlace, Repeat
from .tallies import PartTally, counted_sentences, read_part

N_EXAMPLES = 3


class SentencePlace(NamedTuple):
    part: str
    sentence: int  # index in the part


def duplicates(tally: PartTally) -> tuple[int, list[tuple[int, int]]]:
    """Sentences that repeat an earlier one.

    RETURNS (Tuple[int, List[Tuple[int, int]]]): How many; index of the first and occurrences of the
        sentences that occur most often.
    """
    keys = np.asarray(tally.words)
    words = np.flatnonzero(keys)
    _, first, times = np.unique(keys[words], return_index=True, return_counts=True)
    most = np.lexsort((first, -times))[:N_EXAMPLES]
    examples = [(int(words[first[i]]), int(times[i])) for i in most if times[i] > 1]
    return int(len(words) - len(first)), examples


def leakage(tally: PartTally, training: PartTally) -> Ints1d:
    """Indices of the sentences that also stand in training, those with an entity first."""
    keys = np.asarray(tally.words)
    indices = np.flatnonzero(np.isin(keys, np.asarray(training.words)) & (keys != 0))
    return indices[np.argsort(np.asarray(tally.entities)[indices] == 0, kind="stable")]


def conflicts(
    tallies: Mapping[str, PartTally],
) -> tuple[int, list[tuple[SentencePlace, SentencePlace]]]:
    """Same words, different entities. Sentences with unannotated tokens are not compared.

    RETURNS (Tuple[int, List[Tuple[SentencePlace, SentencePlace]]]): Number of texts that are annotated
        in more than one way; two places of some of them.
    """
    places = [SentencePlace(part, i) for part, own in tallies.items() for i in range(len(own.words))]
    words, entities, complete = (
        np.concatenate([np.asarray(getattr(own, name)) for own in tallies.values()])
        for name in ("words", "entities", "complete")
    )
    rows = np.flatnonzero((complete != 0) & (words != 0))
    order = rows[np.lexsort((rows, entities[rows], words[rows]))]
    same = words[order][1:] == words[order][:-1]
    pairs = np.flatnonzero(same & (entities[order][1:] != entities[order][:-1]))
    _, kept = np.unique(words[order][pairs], return_index=True)
    found = sorted(sorted((int(order[i]), int(order[i + 1]))) for i in pairs[kept].tolist())
    return len(kept), [(places[a], places[b]) for a, b in found[:N_EXAMPLES]]


def sentence_texts(path: Path, wanted: Iterable[int]) -> dict[int, str]:
    """The text of some sentences of a part, entities marked up as [Oslo|GEO]."""
    left, found, i = set(wanted), {}, 0
    for doc in read_part(path) if left else ():
        for sentence in counted_sentences(doc):
            if i in left:
                found[i] = marked_up(doc, sentence.start, sentence.end)
            i += 1
        if len(found) == len(left):
            break
    return found


def marked_up(doc: Doc, first: int, last: int) -> str:
    """The text of some tokens, entities marked up as [Oslo|GEO]."""
    bounds = entity_bounds(doc)
    opens = {start: "[" for start, *_ in bounds}
    closes = {end: f"|{doc.vocab.strings[label]}]" for _, end, label in bounds}
    chunks = [
        f"{opens.get(token.i, '')}{token.text}{closes.get(token.i + 1, '')}{token.whitespace_}"
        for token in doc[first:last]
    ]
    return "".join(chunks).strip().replace("\n", "\\n")  # an example is one line


class Overlaps(NamedTuple):
    duplicates: dict[str, Duplicates]  # by part
    leakage: dict[str, Leakage]  # by part
    conflicts: Conflicts


def overlaps(paths: Mapping[str, Path], tallies: Mapping[str, PartTally]) -> Overlaps:
    """Everything that occurs more than once, with examples."""
    repeated = {part: duplicates(own) for part, own in tallies.items()}
    training = tallies["train"]
    leaked = {part: leakage(own, training) for part, own in tallies.items() if part != "train"}
    n_conflicts, pairs = conflicts(tallies)
    wanted = {part: {i for i, _ in examples} for part, (_, examples) in repeated.items()}
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
                entity_sentences=int(np.count_nonzero(np.asarray(tallies[part].entities)[indices])),
                share=len(indices) / max(len(tallies[part].words), 1),
                examples=[texts[part][i] for i in indices[:N_EXAMPLES].tolist()],
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
