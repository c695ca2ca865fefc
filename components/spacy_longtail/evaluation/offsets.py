"""Decision offsets of types, chosen on held-out folds, with the gain to expect on unseen data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from thinc.types import Floats1d, Floats2d, Ints1d, Ints2d

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
    tokens: Ints1d  # (n_labels + 1,), annotated ones of each type, and of none

    def counts(self, offsets: Floats1d) -> Ints2d:
        """Right, predicted and gold mentions of each type. (n_labels, 3)"""


class Aim(NamedTuple):
    """What offsets are chosen for.

    score (Callable): The F1 to raise, of counts (n_labels, 3).
    recalls (Mapping[int, float]): Recall to reach by type; empty for none.
    """

    score: Score
    recalls: Mapping[int, float] = {}


class Found(NamedTuple):
    """Offsets, and what they do. Counts are (n_labels, 3)."""

    family: Family | Literal["recall"]
    offsets: Floats1d
    without: Floats2d  # (n_folds, n_labels), those that were chosen without each fold
    before: Ints2d  # on all folds
    after: Ints2d  # by these offsets, on the folds that they were chosen on
    nested: Ints2d  # by offsets that were each chosen without the fold judged
    gains: Floats1d  # (n_folds,), of the score, nested


class Unreached(NamedTuple):
    """Wanted recalls that no offsets reach.

    recalls (Mapping[int, float]): The highest by type, or those with offsets for all wanted types.
    is_joint (bool): Whether each is reached alone, and all are not.
    """

    recalls: Mapping[int, float]
    is_joint: bool


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


def find_best(folds: Sequence[Fold], families: Sequence[Family], aim: Aim) -> Found:
    """The offsets of the family that is best by nested folds. Nested, the others choose the family, too.

    folds (Sequence[Fold]): At least two. families (Sequence[str]): To choose among. aim (Aim): What for.
    """

    def best(some: Sequence[Fold]) -> Found:
        every = [find_offsets(some, family, aim) for family in families]
        return max(every, key=lambda own: aim.score(own.nested))

    found = best(folds)
    if len(families) == 1:
        return found
    return _nested(folds, found.family, aim, lambda some: best(some).offsets)


def find_recall(folds: Sequence[Fold], aim: Aim) -> Found | Unreached:
    """The smallest offsets that reach the wanted recalls together on all folds, and nested.

    folds (Sequence[Fold]): At least two. aim (Aim): With recalls.
    """
    reached = recall(_summed(folds, _by_recall(folds, aim)))
    if all(reached[t] >= wanted for t, wanted in aim.recalls.items()):
        return _nested(folds, "recall", aim, lambda some: _by_recall(some, aim))
    zero, highest = _no_offsets(folds), {}
    for t, wanted in aim.recalls.items():
        most = max(recall(_summed(folds, _with(zero, t, step)))[t] for step in RECALL_STEPS)
        if most < wanted:
            highest[t] = float(most)
    return Unreached(highest or {t: float(reached[t]) for t in aim.recalls}, not highest)


def _nested(
    folds: Sequence[Fold],
    family: Family | Literal["recall"],
    aim: Aim,
    choose: Callable[[Sequence[Fold]], Floats1d],
) -> Found:
    offsets, zero = choose(folds), _no_offsets(folds)
    # one fold, all that two leave to choose a family on, has no others: it is chosen and judged on
    others = [[other for k, other in enumerate(folds) if k != i] or folds for i in range(len(folds))]
    without = [choose(some) for some in others]
    own = [fold.counts(chosen) for fold, chosen in zip(folds, without, strict=True)]
    gains = [aim.score(n) - aim.score(fold.counts(zero)) for n, fold in zip(own, folds, strict=True)]
    before, after, nested = _summed(folds, zero), _summed(folds, offsets), np.sum(own, axis=0)
    return Found(family, offsets, np.stack(without), before, after, nested, np.asarray(gains))


def _by_type(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    zero, offsets = _no_offsets(folds), _no_offsets(folds)
    base = f1(_summed(folds, zero))
    for t in range(len(zero)):
        best = base[t]
        for step in STEPS:
            found = f1(_summed(folds, _with(zero, t, step)))[t] - PENALTY * abs(step)
            if found > best:
                best, offsets[t] = found, step
    tried = [offsets * share for share in SHRINK] + [zero]
    return max(tried, key=lambda own: aim.score(_summed(folds, own)))


def _by_prior(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    prior = _prior(folds)
    tried = [tau * prior for tau in (0.0, *TAUS)]
    return max(tried, key=lambda own: aim.score(_summed(folds, own)))


def _prior(folds: Sequence[Fold]) -> Floats1d:
    """Log odds of O against each type, by annotated tokens, of which a type has half a one at least."""
    *inside, outside = np.sum([fold.tokens for fold in folds], axis=0)
    return np.log(max(outside, 1) / np.maximum(inside, 0.5))


def _by_recall(folds: Sequence[Fold], aim: Aim) -> Floats1d:
    """The smallest offsets that are enough together: each is raised in turn, as types compete, until all
    are enough or none can be raised to any use."""
    offsets, before = _no_offsets(folds), None
    while before is None or not np.array_equal(before, offsets):  # it ends: they only rise
        before = offsets.copy()
        for t, wanted in aim.recalls.items():
            offsets[t] = _enough(folds, offsets, t, wanted)
    return offsets


def _enough(folds: Sequence[Fold], offsets: Floats1d, t: int, wanted: float) -> float:
    """The next offset of a type with a recall, beside those of others; where none is enough the one with
    the highest.

    Beyond some offset neighbouring words are taken in, and mentions are lost again.
    """
    reached: dict[float, float] = {}
    for step in (step for step in RECALL_STEPS if step >= offsets[t]):
        reached[step] = float(recall(_summed(folds, _with(offsets, t, step)))[t])
        if reached[step] >= wanted:
            return step
    return max(reached, key=lambda step: reached[step])


def _no_offsets(folds: Sequence[Fold]) -> Floats1d:
    return np.zeros(len(folds[0].tokens) - 1)


def _with(offsets: Floats1d, t: int, step: float) -> Floats1d:
    """The same, with another offset of one type."""
    found = offsets.copy()
    found[t] = step
    return found


def _summed(folds: Sequence[Fold], offsets: Floats1d) -> Ints2d:
    return np.sum([fold.counts(offsets) for fold in folds], axis=0)


def shown(counts: Ints2d) -> list[tuple[float, float, float]]:
    """Precision, recall and F1 of each type. counts (Ints2d): (n_labels, 3)."""
    columns = (precision(counts), recall(counts), f1(counts))
    return list(zip(*(column.tolist() for column in columns), strict=True))
