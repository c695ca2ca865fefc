"""Mentions per unit of a test set, and scores as functions of their sums.

Sums are arrays of shape (..., n_types + 1, 3): correct, predicted and gold mentions of each
declared type, and of all other types in the last row. Scores are in [0, 1], and 0/0 is 0.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Floats1d, Ints3d, Ints4d

from ..records import Document

Kind = Literal["F1", "precision", "recall"]
KINDS = 3  # correct, predicted, gold: the last axis
MACRO = "macro F1"  # the primary metric unless another one is declared


class MentionCounts(NamedTuple):
    """Correct, predicted and gold mentions of each type in each unit of a test set."""

    labels: tuple[str, ...]  # the declared types
    unit: str  # what is sampled: "document", or "group" where the corpus has groups
    counts: Ints3d  # (n_units, n_types + 1, 3); the last type is all others


def mention_counts(documents: Sequence[Document], labels: Sequence[str]) -> MentionCounts:
    """Count strict matches (boundaries and type) in each unit.

    Documents of the same group (the corpus's `group_by`) form one unit. Every other document is a
    unit of its own. Sentences are never units, because sentences of one document share its subject
    and its difficulty.

    documents (Sequence[Document]): Documents of an `Evaluation`. A mention that is annotated twice
        in a document counts once; if it is predicted twice, one of the predictions is wrong.
    labels (Sequence[str]): The declared types. Other types are counted in the last row.
    RETURNS (MentionCounts): Counts of the units, in the order of their first documents.
    """
    column = {label: i for i, label in enumerate(labels)}
    keys = [i if doc.group is None else json.dumps(doc.group) for i, doc in enumerate(documents)]
    unit_of: dict[str | int, int] = {}
    rows = [unit_of.setdefault(key, len(unit_of)) for key in keys]
    cells: list[tuple[int, int, int]] = []
    for row, document in zip(rows, documents, strict=True):
        gold = set(document.gold)
        predicted = [(start, end, label) for start, end, label, _ in document.predicted]
        for kind, spans in enumerate((gold.intersection(predicted), predicted, gold)):
            cells += [(row, column.get(label, len(labels)), kind) for _, _, label in spans]
    counts = np.zeros((len(unit_of), len(labels) + 1, KINDS), dtype="int64")
    np.add.at(counts, tuple(np.array(cells, dtype="int64").reshape(-1, 3).T), 1)
    return MentionCounts(
        labels=tuple(labels),
        unit="group" if any(isinstance(key, str) for key in keys) else "document",
        counts=counts,
    )


def stack(counts: Sequence[MentionCounts]) -> Ints4d:
    """Put the counts of one system's seeds side by side.

    counts (Sequence[MentionCounts]): One for each seed, on the same documents.
    RETURNS (Ints4d): Shape (n_units, n_seeds, n_types + 1, 3).
    """
    return np.stack([one.counts for one in counts], axis=1)


@dataclass(frozen=True)
class Metric:
    """Score that is an average of ratios, one ratio for each group of types.

    groups (Tuple[Tuple[int, ...], ...]): Rows of the counts whose mentions are added up.
    kind (str): "F1", "precision" or "recall".
    by_support (bool): Whether groups are weighted by their gold mentions, and not equally.
    """

    groups: tuple[tuple[int, ...], ...]
    kind: Kind = "F1"
    by_support: bool = False

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        """Return the score of sums of shape (..., n_types + 1, 3). Shape (...)."""
        part, whole = self.ratios(sums)
        return (self.weights(sums) * divide(part, whole)).sum(axis=-1)

    def ratios(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numerator and denominator of each group, both of shape (..., n_groups)."""
        columns = [counts[..., list(rows), :].sum(axis=-2) for rows in self.groups]
        sums = np.stack(columns, axis=-2) if columns else np.zeros((*counts.shape[:-2], 0, KINDS))
        correct, predicted, gold = (sums[..., i] for i in range(KINDS))
        if self.kind == "F1":
            return 2.0 * correct, predicted + gold
        return correct, predicted if self.kind == "precision" else gold

    def weights(self, sums: np.ndarray) -> np.ndarray:
        """Return the weight of each group, of shape (..., n_groups). They add up to 1.

        They depend on gold mentions alone, so two systems and all seeds have the same: `compare`
        takes a difference of scores for the weighted sum of differences.
        """
        if self.by_support and self.groups:
            gold = np.stack([sums[..., list(rows), 2].sum(axis=-1) for rows in self.groups], axis=-1)
            return divide(gold, gold.sum(axis=-1, keepdims=True))
        return np.full(len(self.groups), 1 / max(len(self.groups), 1))

    def units_with_gold(self, counts: np.ndarray) -> int:
        """Return how many units have gold mentions, from counts as `stack` returns them."""
        rows = sorted({row for rows in self.groups for row in rows})
        return int((counts[:, 0, rows, 2].sum(axis=-1) > 0).sum())

    def row_shares(self, sums: np.ndarray) -> Floats1d:
        """Return the share of each row of the counts in the score. Shape (n_types + 1,)."""
        shares = np.zeros(sums.shape[-2])
        for weight, rows in zip(self.weights(sums), self.groups, strict=True):
            mentions = sums[list(rows), 1:].sum(axis=-1)
            shares[list(rows)] += weight * divide(mentions, mentions.sum())
        return shares


def named_metrics(labels: Sequence[str], tail: Sequence[str] = ()) -> dict[str, Metric]:
    """Return every score by the name that pages show: averages first, then the types in order.

    labels (Sequence[str]): The declared types, in the order of the counts.
    tail (Sequence[str]): The rare types, all of them declared. Without any there is no "tail F1".
    RETURNS (Dict[str, Metric]): "macro F1", "tail F1", "micro F1", "weighted F1", and for each type
        "F1 of X", "precision of X" and "recall of X".
    """
    types = tuple((i,) for i in range(len(labels)))
    metrics = {MACRO: Metric(types)}
    if tail:
        metrics["tail F1"] = Metric(tuple((labels.index(label),) for label in tail))
    metrics["micro F1"] = Metric((tuple(range(len(labels) + 1)),))
    metrics["weighted F1"] = Metric(types, by_support=True)
    for label, rows in zip(labels, types, strict=True):
        for kind in ("F1", "precision", "recall"):
            metrics[f"{kind} of {label}"] = Metric((rows,), kind)
    return metrics


def divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole elementwise, and 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.zeros(shape), where=np.broadcast_to(whole, shape) > 0)
