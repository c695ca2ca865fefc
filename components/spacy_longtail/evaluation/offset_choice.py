"""Decision offsets for what is wanted of them, and what to expect of them on documents not seen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from spacy.training import Example

from ..errors import Errors
from ..pipes.thresholds import as_stored
from ..pipes.token_ner import TokenNER
from .analysis.records import PRF
from .chosen import ChosenOffsets, Expected
from .held_out import HeldOut
from .offsets import (
    FAMILIES,
    Aim,
    Family,
    Found,
    Unreached,
    find_best,
    find_offsets,
    find_recall,
    mean_f1,
    shown,
)
from .significance.resampled import resampled_t


class OffsetWish(NamedTuple):
    """What decision offsets are wanted for.

    families (Sequence[str]): Of FAMILIES, those to choose among.
    tail (Sequence[str]): Rare types, to raise their F1; empty is that of all types.
    recalls (Mapping[str, float]): Recall to reach by type, in place of a better F1.
    """

    families: Sequence[Family] = FAMILIES
    tail: Sequence[str] = ()
    recalls: Mapping[str, float] = {}


class Decided(NamedTuple):
    """What is decided on offsets: those of the pipeline, and those without each fold."""

    offsets: dict[str, float] | None
    without: list[dict[str, float] | None]
    tried: tuple[ChosenOffsets, ...] = ()
    expected: Expected | None = None


def choose_offsets(
    pipes: Sequence[TokenNER], held_out: Sequence[list[Example]], wish: OffsetWish
) -> Decided:
    """What each family of offsets does; the best is used, if choosing so gains on held-out folds.

    pipes (Sequence[TokenNER]): One for each fold.
    held_out (Sequence[List[Example]]): What they were not trained on, read by what stands before them.
    wish (OffsetWish): What is wanted.
    RAISES (ValueError): L312, L314, L590.
    """
    labels = pipes[0].labels
    for pipe in pipes:
        if set(pipe.labels) != set(labels):
            found, known = (", ".join(own) for own in (pipe.labels, labels))
            raise ValueError(Errors.L314.format(found=found, known=known))
    folds = [HeldOut.of(pipe, own, labels) for pipe, own in zip(pipes, held_out, strict=True)]
    among = [i for i, label in enumerate(labels) if not wish.tail or label in wish.tail]
    recalls = {labels.index(label): value for label, value in wish.recalls.items()}
    aim = Aim(mean_f1(among), recalls)
    if recalls:
        found = find_recall(folds, aim)
        if isinstance(found, Unreached):
            reached = ", ".join(f"{labels[t]} {100 * most:.1f} %" for t, most in found.recalls.items())
            raise ValueError((Errors.L590 if found.is_joint else Errors.L312).format(reached=reached))
        goal = "recall of " + ", ".join(f"{t} {100 * v:g} %" for t, v in wish.recalls.items())
        return _decided(found, [_chosen(found, labels, aim, goal, used=True)], labels, aim)
    goal = "mean F1 of rare types" if wish.tail else "macro F1"
    best = find_best(folds, wish.families, aim)
    gains = aim.score(best.nested) > aim.score(best.before)
    tried = [
        _chosen(find_offsets(folds, family, aim), labels, aim, goal, gains and family == best.family)
        for family in wish.families
    ]
    return _decided(best, tried, labels, aim)


def _decided(found: Found, tried: Sequence[ChosenOffsets], labels: Sequence[str], aim: Aim) -> Decided:
    is_used = any(own.used for own in tried)
    offsets, *without = (
        (_by_label(row, labels) or None) if is_used else None for row in (found.offsets, *found.without)
    )
    return Decided(offsets, without, tuple(tried), _expected_of(found, aim))


def _by_label(offsets: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    return {label: as_stored(value) for label, value in zip(labels, offsets, strict=True) if value}


def _expected_of(found: Found, aim: Aim) -> Expected:
    k = len(found.gains)
    test = resampled_t(found.gains, 1 / (k - 1))  # dev is no fold
    return Expected(
        folds=k,
        before=aim.score(found.before),
        after=aim.score(found.nested),
        p=None if test is None else test.p,
    )


def _chosen(found: Found, labels: Sequence[str], aim: Aim, goal: str, used: bool) -> ChosenOffsets:
    def by_label(counts: np.ndarray) -> dict[str, PRF]:
        rows = zip(labels, shown(counts), strict=True)
        return {label: PRF(p=p, r=r, f=f) for label, (p, r, f) in rows}

    return ChosenOffsets(
        family=found.family,
        used=used,
        offsets=_by_label(found.offsets, labels),
        before=by_label(found.before),
        after=by_label(found.after),
        nested=by_label(found.nested),
        goal=goal,
        gain=aim.score(found.after) - aim.score(found.before),
        expected=_expected_of(found, aim),
    )
