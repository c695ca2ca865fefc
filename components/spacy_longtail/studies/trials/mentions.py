"""The mentions of the training part: which draws of a type there are, and what each of them has."""

import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.training import Corpus
from thinc.types import Ints1d

from ...corpus.counts import count_doc
from ...corpus.folder import part_path, read_types
from ...corpus.tokenizers import blank
from ...errors import Errors, Warnings
from ...evaluation.learning_curve import LEAST_RUNS, LEAST_SIZES
from ...output.amounts import number
from ...readers import units
from ...readers.base import generator, shown
from ...readers.few_mentions import draw_mentions
from ...readers.unit_counts import UnitCounts
from ...training.provenance import checksum
from .draws import SEED, MentionDraw

SMALLEST = 5  # mentions of the smallest draw, unless sizes are given; each next one has twice as many
ALIKE = 0.6  # of difflib: names that may have been meant


class TrainMentions(NamedTuple):
    """What the sentences of a training part hold."""

    counts: UnitCounts
    document: Ints1d  # (n_sentences,) of each

    def total(self, label: str) -> int:
        """The mentions of a type."""
        return int(self.counts.mentions_of(label).sum())

    def drawn(self, draw: MentionDraw, partition: int) -> int:
        """How many mentions a draw has."""
        mentions = self.counts.mentions_of(draw.label)
        kept = draw_mentions(mentions, draw.n_mentions, generator(SEED, partition))
        return int(mentions[kept].sum())


def count_train(corpus: Path) -> TrainMentions:
    """The mentions of a corpus's training part, sentence by sentence.

    corpus (Path): A folder that `convert` wrote. RAISES (ValueError): L402, L404, L430.
    """
    path = part_path(corpus, "train")
    if not path.exists():
        raise ValueError(Errors.L402.format(path=path, fix="Trials need train, dev and test."))
    return _counted(corpus, checksum(path))


@cache
def _counted(corpus: Path, _: str) -> TrainMentions:
    types = read_types(corpus)
    nlp = blank(types.lang, types.tokens)
    counts, documents = UnitCounts(), []
    for i, eg in enumerate(shown(Corpus(part_path(corpus, "train"))(nlp), "Counting")):
        for part in units(nlp, [eg], "sentence"):
            counts.append(count_doc(part.reference), len(part.reference))
            documents.append(i)
    return TrainMentions(counts, np.asarray(documents, dtype="int64"))


def default_sizes(corpus: Path, label: str) -> list[int]:
    """5 mentions, 10, 20, and so on, and all that there are.

    corpus (Path): A folder that `convert` wrote. label (str): The type.
    RAISES (ValueError): L402, L404, L430, L531, L532.
    """
    total = _known(corpus, count_train(corpus), label)
    if total < SMALLEST:
        raise _wrong_sizes(corpus, label, total, f"{SMALLEST}, the smallest size")
    sizes = [SMALLEST]
    while 2 * sizes[-1] < total:
        sizes.append(2 * sizes[-1])
    return sizes if total == sizes[-1] else [*sizes, total]


def check_mentions(corpus: Path, draws: Sequence[MentionDraw], partitions: Iterable[int]) -> None:
    """Refuse draws that there are not, and warn of those that say little.

    corpus (Path): A folder that `convert` wrote. draws (Sequence[MentionDraw]): Of the plan.
    partitions (Iterable[int]): Of each draw.
    RAISES (ValueError): L402, L404, L430, L531, L532, L533.
    """
    found = count_train(corpus)
    partitions = list(partitions)
    for label in dict.fromkeys(draw.label for draw in draws):
        own = [draw for draw in draws if draw.label == label]
        total = _known(corpus, found, label)
        if beyond := [str(draw.n_mentions) for draw in own if draw.n_mentions > total]:
            raise _wrong_sizes(corpus, label, total, ", ".join(beyond))
        sentences = np.flatnonzero(found.counts.mentions_of(label))
        if len(sentences) < 2:
            raise ValueError(Errors.L533.format(path=corpus, label=label, total=total))
        if len(set(found.document[sentences].tolist())) < 2:
            warnings.warn(Warnings.W099.format(label=label, total=total), stacklevel=3)
        if len(own) < LEAST_SIZES or len(partitions) < LEAST_RUNS:
            few = Warnings.W101.format(
                label=label,
                n_sizes=len(own),
                n_partitions=len(partitions),
                sizes=LEAST_SIZES,
                runs=LEAST_RUNS,
            )
            warnings.warn(few, stacklevel=3)
        empty = [
            f"{draw.n_mentions} in partition {p}"
            for draw in own
            for p in partitions
            if not found.drawn(draw, p)
        ]
        if empty:
            warnings.warn(Warnings.W100.format(label=label, draws=", ".join(empty)), stacklevel=3)


def _known(corpus: Path, found: TrainMentions, label: str) -> int:
    """The mentions of a type that has some. RAISES (ValueError): L531."""
    total = found.total(label)
    if not total:
        known = found.counts.total.labels
        folded = {name.casefold(): name for name in reversed(known)}
        close = get_close_matches(label.casefold(), folded, n=1, cutoff=ALIKE)
        hint = f"Did you mean {folded[close[0]]}? " if close else ""
        message = Errors.L531.format(path=corpus, label=label, hint=hint, known=", ".join(known))
        raise ValueError(message)
    return total


def _wrong_sizes(corpus: Path, label: str, total: int, asked: str) -> ValueError:
    shown = {"mentions": number(total, "mention"), "total": total, "asked": asked}
    return ValueError(Errors.L532.format(path=corpus, label=label, **shown))
