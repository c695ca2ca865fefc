"""What training data has of each type: mentions, and the surfaces that a model has seen."""

from pathlib import Path
from typing import NamedTuple

from ...corpus.statistics.columns import Words
from ...corpus.statistics.tallies import PartTally, read_parts

Surface = tuple[str, str]  # case-folded text, type


class TrainingMentions(NamedTuple):
    mentions: dict[str, int]  # by type
    surfaces: frozenset[Surface]


def read_training(path: Path) -> TrainingMentions:
    """Count the mentions of training data as the corpus statistics do.

    path (Path): A .spacy file, or a folder of them, of which one file at a time is in memory.
    RETURNS (TrainingMentions): Those that cross a sentence boundary are left out.
    RAISES (ValueError): L402, L403, L404.
    """
    words, tally = Words(), PartTally()
    for _, batch, table in read_parts({"train": path}, words):
        tally.add(batch, table, words)
    return TrainingMentions(dict(tally.counts.mentions), frozenset(tally.surfaces))
