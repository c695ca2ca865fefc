"""Mentions that training has with the same type, and those that it has not."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...corpus.statistics.columns import Words
from ...corpus.statistics.tallies import PartTally, read_parts
from .mentions import Pair, Surface
from .records import Seen, SeenShares, Share


class TrainingMentions(NamedTuple):
    mentions: dict[str, int]  # by type
    surfaces: frozenset[Surface]


def read_training(path: Path) -> TrainingMentions:
    """Count the mentions of training data as the corpus statistics do.

    path (Path): A .spacy file, or a folder of them, of which one file at a time is in memory.
    RETURNS (TrainingMentions): Those that cross a sentence boundary are left out.
    """
    words, tally = Words(), PartTally()
    for _, batch, table in read_parts({"train": path}, words):
        tally.add(batch, table, words)
    return TrainingMentions(dict(tally.counts.mentions), frozenset(tally.surfaces))


class Case(NamedTuple):
    """What is counted of a mention."""

    label: str
    is_seen: bool
    is_gold: bool
    is_right: bool


def seen_mentions(pairs: Iterable[Pair], surfaces: Collection[Surface], labels: Sequence[str]) -> Seen:
    """Scores of the mentions that training has with the same type, case aside, and of the others.

    pairs (Iterable[Pair]): Of all documents. surfaces (Collection[Surface]): Of training.
    labels (Sequence[str]): All types.
    """
    counts: Counter[Case] = Counter()
    for pair in pairs:
        for is_gold, mention in ((True, pair.gold), (False, pair.predicted)):
            if mention is not None:
                is_seen, is_right = mention.surface in surfaces, pair.kind == "correct"
                counts[Case(mention.label, is_seen, is_gold, is_right)] += 1
    seen, unseen = (_share(counts, labels, is_seen) for is_seen in (True, False))
    per_type = {
        t: SeenShares(seen=_share(counts, [t], True), unseen=_share(counts, [t], False)) for t in labels
    }
    return Seen(seen=seen, unseen=unseen, per_type=per_type)


def _share(counts: Counter[Case], labels: Sequence[str], is_seen: bool) -> Share:
    def shares(is_gold: bool) -> tuple[float | None, int]:
        wrong, right = (
            sum(counts[Case(label, is_seen, is_gold, is_right)] for label in labels)
            for is_right in (False, True)
        )
        return (right / (right + wrong) if right + wrong else None), right + wrong

    recall, n_gold = shares(True)
    precision, n_predicted = shares(False)
    return Share(recall=recall, support=n_gold, precision=precision, predicted=n_predicted)
