"""Scores as functions of summed counts, of one sum or of many at once.

Sums are (..., n_types + 1, 3): right, predicted and gold mentions of each declared type, and of all
others in the last row. Scores are in [0, 1], and 0/0 is 0.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ...errors import Errors

Metric = Callable[[np.ndarray], np.ndarray]  # (..., n_types + 1, 3) -> (...)


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of (..., 3) counts. (...)"""
    return _ratio(2.0 * counts[..., 0], counts[..., 1] + counts[..., 2])


def precision(counts: np.ndarray) -> np.ndarray:
    """Precision of (..., 3) counts. (...)"""
    return _ratio(counts[..., 0], counts[..., 1])


def recall(counts: np.ndarray) -> np.ndarray:
    """Recall of (..., 3) counts. (...)"""
    return _ratio(counts[..., 0], counts[..., 2])


def macro_f1(sums: np.ndarray) -> np.ndarray:
    """Mean F1 of the declared types: predictions of other types have no say."""
    return _mean(f1(sums[..., :-1, :]))


def tail_f1(sums: np.ndarray, indices: Sequence[int]) -> np.ndarray:
    """Mean F1 of the types at `indices`."""
    return _mean(f1(sums[..., list(indices), :]))


def micro_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of all mentions, those of other types among them."""
    return f1(sums.sum(axis=-2))


def weighted_f1(sums: np.ndarray) -> np.ndarray:
    """Mean F1 of the declared types, each weighted by its gold mentions."""
    declared = sums[..., :-1, :]
    support = declared[..., 2]
    return _ratio((f1(declared) * support).sum(axis=-1), support.sum(axis=-1))


def type_score(sums: np.ndarray, index: int, of: Metric) -> np.ndarray:
    """`f1`, `precision` or `recall` of the type at `index`."""
    return of(sums[..., index, :])


def named_metrics(labels: Sequence[str], tail: Sequence[str] = ()) -> dict[str, Metric]:
    """Every score under the name that people read: averages first, then the types in their order.

    labels (Sequence[str]): The declared types, as the counts have them.
    tail (Sequence[str]): The rare ones; without any there is no "tail F1".
    RETURNS (Dict[str, Metric]): "macro F1", "tail F1", "micro F1", "weighted F1", and for each type
        "F1 of X", "precision of X" and "recall of X".
    """
    unknown = sorted(set(tail) - set(labels))
    if unknown:
        fix = f"Declared: {', '.join(labels)}."
        raise ValueError(
            Errors.L001.format(name="tail", rule="of declared types", value=unknown, fix=fix)
        )
    found: dict[str, Metric] = {"macro F1": macro_f1}
    if tail:
        found["tail F1"] = partial(tail_f1, indices=[labels.index(label) for label in tail])
    found |= {"micro F1": micro_f1, "weighted F1": weighted_f1}
    kinds = {"F1": f1, "precision": precision, "recall": recall}
    for i, label in enumerate(labels):
        found |= {
            f"{kind} of {label}": partial(type_score, index=i, of=of) for kind, of in kinds.items()
        }
    return found


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=whole > 0)


def _mean(scores: np.ndarray) -> np.ndarray:
    return scores.sum(axis=-1) / max(scores.shape[-1], 1)  # no type at all scores 0
