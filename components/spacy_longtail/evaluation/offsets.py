"""Decision offsets of types, chosen on held-out folds, with the gain to expect on unseen data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from thinc.types import Floats1d, Ints2d

from .significance.metrics import f1, precision, recall

Family = Literal["types", "prior"]
FAMILIES: tuple[Family, ...] = ("prior", "types")
STEPS = tuple(s * o for o in (0.5, 1.0, 1.5, 2.0, 3.0) for s in (1, -1))  # log odds
TAUS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # strengths of logit adjustment
SHRINK = (1.0, 0.5, 0.25)  # types chosen one by one compete once all are moved
RECALL_STEPS = tuple(np.arange(0.0, 12.25, 0.5).tolist())  # smallest first
PENALTY = 0.01  # F1 that a step of one log odd has to gain

Score = Callable[[Ints2d], float]  # of counts (n_labels, 3)


class Fold(Protocol):
    def counts(self, offsets: Floats1d) -> Ints2d:
        """Right, predicted and gold mentions of each type. (n_labels, 3)"""


class Aim(NamedTuple):
    """What offsets are chosen for.

    score (Callable): The F1 to raise, of counts (n_labels, 3).
    recalls (Mapping[int, float]): Recall to reach by type; null or empty for none.
    prior (Floats1d): (n_labels,), log odds of O against each type, by tokens.
    """

    score: Score
    prior: Floats1d
    recalls: Mapping[int, float] = {}


class Found(NamedTuple):
    """Offsets, and what they do. Counts are (n_labels, 3)."""

    family: Family | Literal["recall"]
    offsets: Floats1d
    before: Ints2d  # on all folds
    after: Ints2d  # by these offsets, on the folds that they were chosen on
    nested: Ints2d  # by offsets that were each chosen without the fold judged
    gains: Floats1d  # (n_folds,), of the score, nested


def mean_f1(indices: Sequence[int]) -> Score:
    """The mean F1 of the types at `indices` that have gold or predicted mentions."""
    chosen = list(indices)
    return lambda counts: float(f1(counts[chosen]).mean()) if chosen else 0.0


def find_offsets(folds: Sequence[Fold], family: Family, aim: Aim) -> Found:
    """The best offsets of a family, by all folds, and nested: by all but the one that is judged.

    folds (Sequence[Fold]): At least two. family (str): "types", an offset of its own for each, or
        "prior", logit adjustment of one strength. aim (Aim): What for.
    SOURCE: for "prior" Menon et al. 2021, Long-tail learning via logit adjustment, applied post hoc.
    """
    choose = {"types": _by_type, "prior": _by_prior}[family]
    return _nested(folds, family, aim, lambda some: choose(some, aim))


def find_recall(folds: Sequence[Fold], aim: Aim) -> Found | dict[int, float]:
    """The smallest offsets that reach the wanted recalls on all folds, and nested.

    folds (Sequence[Fold]): At least two. aim (Aim): With recalls.
    RETURNS: What was found, or where it cannot be reached the highest recall of each such type.
    """
    highest = {}
    n_labels = len(aim.prior)
    for t, wanted in aim.recalls.items():
        reached = [recall(_summed(folds, _only(n_labels, t, step)))[t] for step in RECALL_STEPS]
        if max(reached) < wanted:
            highest[t] = float(max(reached))
    if highest:
        return highest
    return _nested(folds, "recall", aim, lambda some: _by_recall(some, aim))


def _nested(
    folds: Sequence[Fold],
    family: Family | Literal["recall"],
    aim: Aim,
    choose: Callable[[Sequence[Fold]], Floats1d],
) -> Found:
    offsets, zero = choose(folds), np.zeros(len(aim.prior))
    nested, gains = np.zeros((len(zero), 3), dtype="int64"), []
    for i, fold in enumerate(folds):
        own = fold.counts(choose([other for k, other in enumerate(folds) if k != i]))
        nested += own
        gains.append(aim.score(own) - aim.score(fold.counts(zero)))
    before, after = _summed(folds, zero), _summed(folds, offsets)
    return Found(family, offsets, before, after, nested, np.asarray(gains))


def _by_type(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    n_labels = len(aim.prior)
    zero = np.zeros(n_labels)
    base = f1(_summed(folds, zero))
    offsets = np.zeros(n_labels)
    for t in range(n_labels):
        best = base[t]
        for step in STEPS:
            found = f1(_summed(folds, _only(n_labels, t, step)))[t] - PENALTY * abs(step)
            if found > best:
                best, offsets[t] = found, step
    tried = [offsets * share for share in SHRINK] + [zero]
    return max(tried, key=lambda own: aim.score(_summed(folds, own)))


def _by_prior(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    tried = [tau * aim.prior for tau in (0.0, *TAUS)]
    return max(tried, key=lambda own: aim.score(_summed(folds, own)))


def _by_recall(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    """The smallest offset of each that is enough; where none is, the one with the highest recall.

    Beyond some offset neighbouring words are taken in, and mentions are lost again.
    """
    n_labels = len(aim.prior)
    offsets = np.zeros(n_labels)
    for t, wanted in aim.recalls.items():
        reached = [recall(_summed(folds, _only(n_labels, t, step)))[t] for step in RECALL_STEPS]
        enough = np.flatnonzero(np.asarray(reached) >= wanted)
        offsets[t] = RECALL_STEPS[int(enough[0]) if len(enough) else int(np.argmax(reached))]
    return offsets


def _only(n_labels: int, t: int, step: float) -> Floats1d:
    offsets = np.zeros(n_labels)
    offsets[t] = step
    return offsets


def _summed(folds: Sequence[Fold], offsets: Floats1d) -> Ints2d:
    return np.sum([fold.counts(offsets) for fold in folds], axis=0)


def shown(counts: Ints2d) -> list[tuple[float, float, float]]:
    """Precision, recall and F1 of each type. counts (Ints2d): (n_labels, 3)."""
    columns = (precision(counts), recall(counts), f1(counts))
    return list(zip(*(column.tolist() for column in columns), strict=True))
