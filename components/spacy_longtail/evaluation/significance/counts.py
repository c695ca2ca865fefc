"""Right, predicted and gold mentions of the units that a test set is sampled in."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Ints3d, Ints4d

from ..records import Document

Unit = Literal["document", "sentence"]
LEAST_DOCUMENTS = 20  # with fewer, resampled documents say little: sentences are the units
KINDS = 3  # right, predicted, gold: the last axis


class MentionCounts(NamedTuple):
    labels: tuple[str, ...]  # the declared types
    unit: Unit
    counts: Ints3d  # (n_units, n_types + 1, 3); the last type is all others


def mention_counts(
    documents: Sequence[Document], labels: Sequence[str], unit: Unit | None = None
) -> MentionCounts:
    """Count strict matches, place and type, in each unit.

    documents (Sequence[Document]): As in an evaluation. A mention that is annotated twice in a
        document counts once; predicted twice, one of them is wrong.
    labels (Sequence[str]): The declared types. What is of another type goes to the last column.
    unit (Optional[Unit]): Null takes documents, or sentences of fewer than 20 documents.
    RETURNS (MentionCounts): A mention is of the sentence that it starts in; a document without
        sentence bounds is one sentence.
    """
    column = {label: i for i, label in enumerate(labels)}
    unit = unit or ("sentence" if len(documents) < LEAST_DOCUMENTS else "document")
    cells: list[tuple[int, int, int]] = []
    n_units = 0
    for document in documents:
        gold = set(document.gold)
        predicted = [(start, end, label) for start, end, label, _ in document.predicted]
        later = [start for start, _ in document.sentences[1:]] if unit == "sentence" else []
        for kind, spans in enumerate((gold.intersection(predicted), predicted, gold)):
            for start, _, label in spans:
                row = n_units + bisect_right(later, start)
                cells.append((row, column.get(label, len(labels)), kind))
        n_units += len(later) + 1
    counts = np.zeros((n_units, len(labels) + 1, KINDS), dtype="int64")
    np.add.at(counts, tuple(np.array(cells, dtype="int64").reshape(-1, 3).T), 1)
    return MentionCounts(tuple(labels), unit, counts)


def stack(counts: Sequence[MentionCounts]) -> Ints4d:
    """The counts of one system's seeds side by side.

    counts (Sequence[MentionCounts]): One for each seed, on the same documents.
    RETURNS (Ints4d): (n_units, n_seeds, n_types + 1, 3).
    """
    return np.stack([own.counts for own in counts], axis=1)
