"""Mentions in the units that a test set is sampled in, and scores as functions of their sums.

Sums are (..., n_types + 1, 3): right, predicted and gold mentions of each declared type, and of all
others in the last row. Scores are in [0, 1], and 0/0 is 0.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Ints3d, Ints4d

from ..records import Document

Metric = Callable[[np.ndarray], np.ndarray]  # (..., n_types + 1, 3) -> (...)
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
    return np.stack([one.counts for one in counts], axis=1)


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of (..., 3) counts. (...)"""
    return _ratio(2.0 * counts[..., 0], counts[..., 1] + counts[..., 2])


def named_metrics(labels: Sequence[str], tail: Sequence[str] = ()) -> dict[str, Metric]:
    """Every score under the name that people read: averages first, then the types in their order.

    labels (Sequence[str]): The declared types, as the counts have them.
    tail (Sequence[str]): The rare ones, all of them declared; without any there is no "tail F1".
    RETURNS (Dict[str, Metric]): "macro F1", "tail F1", "micro F1", "weighted F1", and for each type
        "F1 of X", "precision of X" and "recall of X".
    """
    rows = [labels.index(label) for label in tail]
    metrics: dict[str, Metric] = {"macro F1": lambda sums: _mean(f1(sums[..., :-1, :]))}
    if tail:
        metrics["tail F1"] = lambda sums: _mean(f1(sums[..., rows, :]))
    metrics |= {"micro F1": lambda sums: f1(sums.sum(axis=-2)), "weighted F1": _weighted_f1}
    for i, label in enumerate(labels):
        metrics |= {f"{kind} of {label}": metric for kind, metric in _of_type(i).items()}
    return metrics


def _of_type(i: int) -> dict[str, Metric]:
    return {
        "F1": lambda sums: f1(sums[..., i, :]),
        "precision": lambda sums: _ratio(sums[..., i, 0], sums[..., i, 1]),
        "recall": lambda sums: _ratio(sums[..., i, 0], sums[..., i, 2]),
    }


def _weighted_f1(sums: np.ndarray) -> np.ndarray:
    """Mean F1 of the declared types, each weighted by its gold mentions."""
    declared = sums[..., :-1, :]
    support = declared[..., 2]
    return _ratio((f1(declared) * support).sum(axis=-1), support.sum(axis=-1))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0)


def _mean(scores: np.ndarray) -> np.ndarray:
    return scores.sum(axis=-1) / max(scores.shape[-1], 1)  # no type at all scores 0
