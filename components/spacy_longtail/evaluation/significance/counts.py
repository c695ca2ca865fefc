"""Right, predicted and gold mentions of the units that a test set is sampled in."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Ints3d, Ints4d

from ...errors import Errors
from ..records import Document

Unit = Literal["document", "sentence"]
LEAST_DOCUMENTS = 20  # with fewer, resampled documents say little: sentences are the units
KINDS = 3  # right, predicted, gold: the last axis


class MentionCounts(NamedTuple):
    labels: tuple[str, ...]  # the declared types
    unit: Unit
    counts: Ints3d  # (n_units, n_types + 1, 3), right, predicted and gold; the last type is all others


def mention_counts(
    documents: Sequence[Document], labels: Sequence[str], unit: Unit | None = None
) -> MentionCounts:
    """Count strict matches, place and type, in each unit: documents, or sentences of a few documents.

    documents (Sequence[Document]): As in an evaluation. A mention that is annotated twice in a document
        counts once; predicted twice, one of them is wrong.
    labels (Sequence[str]): The declared types. What is of another type goes to the last column.
    unit (Optional[Unit]): Null takes documents, or sentences of fewer than 20 documents.
    RETURNS (MentionCounts): A mention is of the sentence that it starts in; a document without
        sentence bounds is one sentence.
    """
    column = {label: i for i, label in enumerate(labels)}
    others, n_columns = len(labels), len(labels) + 1
    unit = unit or ("sentence" if len(documents) < LEAST_DOCUMENTS else "document")
    cells: list[int] = []
    n_units = 0
    for document in documents:
        gold = set(document.gold)
        predicted = [(start, end, label) for start, end, label, _ in document.predicted]
        later = [start for start, _ in document.sentences[1:]] if unit == "sentence" else []
        for kind, spans in enumerate((gold.intersection(predicted), predicted, gold)):
            for start, _, label in spans:
                row = (n_units + bisect_right(later, start)) * n_columns
                cells.append((row + column.get(label, others)) * KINDS + kind)
        n_units += len(later) + 1
    shape = (n_units, n_columns, KINDS)
    counts = np.bincount(np.asarray(cells, dtype="int64"), minlength=n_units * n_columns * KINDS)
    return MentionCounts(tuple(labels), unit, counts.reshape(shape))


def stack(found: Sequence[MentionCounts]) -> Ints4d:
    """The counts of one system's seeds side by side.

    found (Sequence[MentionCounts]): One for each seed, on the same documents.
    RETURNS (Ints4d): (n_units, n_seeds, n_types + 1, 3).
    """
    if not found:
        fix = "Give the counts of one evaluation at least."
        raise ValueError(Errors.L001.format(name="found", rule="not empty", value=found, fix=fix))
    first = found[0]
    for seed_i, other in enumerate(found[1:], start=2):
        problem = _mismatch(first, other)
        if problem:
            names = {"path": f"Evaluation {seed_i}", "other": "the first"}
            raise ValueError(Errors.L411.format(**names, problem=problem))
    return np.stack([own.counts for own in found], axis=1)


def _mismatch(first: MentionCounts, other: MentionCounts) -> str | None:
    if first.labels != other.labels:
        return "their types differ"
    if first.unit != other.unit or len(first.counts) != len(other.counts):
        sizes = (f"{len(own.counts)} {own.unit}s" for own in (other, first))
        return " against ".join(sizes)
    if not np.array_equal(first.counts[..., 2], other.counts[..., 2]):
        return "their gold mentions differ"
    return None
