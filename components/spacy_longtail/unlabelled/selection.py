"""Which of the kept sentences to propose: quotas of types, no near-duplicates, a random share."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from thinc.types import Floats1d

from ..errors import Errors
from .scan import RANDOM, Scan
from .units import Unit, skeleton

NEAR = 0.97  # cosine of vectors less their mean, above which two sentences are near-duplicates
NEIGHBOURS = 3  # of those chosen, whose mean likeness is the penalty
PER_DOCUMENT = 0.1  # largest share of all proposals that one text of the pool may give


class Proposal(NamedTuple):
    """A sentence to label."""

    unit: Unit
    chosen_for: str  # a type, or "random"
    score: float  # expected mentions of the type; of a random one, of all rare types


def share_out(n: int, types: list[str], given: Mapping[str, int]) -> dict[str, int]:
    """Labels for each type: as given, the rest in equal parts, the first types one more."""
    if not set(given) <= set(types) or sum(given.values()) > n:
        shown = ",".join(f"{t}={k}" for t, k in given.items())
        problem = f"--quota {shown} cannot be filled from {n} labels of {', '.join(types)}"
        fix = "Name rare types, with a sum of at most the labels that no random share takes."
        raise ValueError(Errors.L500.format(problem=problem, fix=fix))
    rest = [t for t in types if t not in given]
    each, more = divmod(n - sum(given.values()), len(rest)) if rest else (0, 0)
    shares = {t: each + (i < more) for i, t in enumerate(rest)}
    return {t: given.get(t, shares.get(t, 0)) for t in types}


def choose(
    scan: Scan,
    quotas: Mapping[str, int],
    n_random: int,
    penalty: float = 0.5,
    capped: Collection[str] = (),
    per_document: float = PER_DOCUMENT,
) -> list[Proposal]:
    """The proposals: the random share first, then types in turn, by what their quotas lack.

    penalty (float): How much of its score a sentence loses that is like those chosen, in [0, 1].
    capped (Collection[str]): Rankings that get no more than their quota; the others also get what a
        ranking cannot fill.
    per_document (float): Largest share of all proposals that one text of the pool may give.
    RETURNS (List[Proposal]): No text twice.
    """
    drawn = [unit for _, unit in scan.best[RANDOM].ranked()[:n_random]]
    chosen = [Proposal(unit, RANDOM, sum(unit.expected)) for unit in drawn]
    n = n_random + sum(quotas.values())
    n_documents = len({unit.document for own in scan.best.values() for _, _, unit in own.heap})
    most = max(1, round(per_document * n), -(-n // max(1, n_documents)))
    ranked = [(name, *row) for name in quotas for row in scan.best[name].ranked()]
    names, scores = np.array([name for name, *_ in ranked]), np.array([own for _, own, _ in ranked])
    units, is_left = [unit for *_, unit in ranked], np.ones(len(ranked), dtype=bool)
    # likeness is to what the candidates are not all like anyway
    mean = np.mean([unit.vector for unit in units], axis=0) if units else 0.0
    rows = np.array([_direction(unit, mean) for unit in units])
    likeness = np.zeros((len(units), 0))  # to the chosen ones that are most like each candidate
    texts, documents, counts = set[str](), Counter[str](), Counter[str]()  # lots ask for no document
    new, open_to = drawn, [name for name, k in quotas.items() if k]
    while open_to and len(chosen) < n:
        if new and units:
            texts.update(skeleton(unit.text) for unit in new)
            near = rows @ np.stack([_direction(unit, mean) for unit in new]).T
            likeness = np.sort(np.concatenate([likeness, near], axis=1), axis=1)[:, -NEIGHBOURS:]
            is_left &= likeness[:, -1] < NEAR
            new = []
        name = max(open_to, key=lambda own: (quotas[own] - counts[own]) / quotas[own])
        left = np.flatnonzero(is_left & (names == name))
        if not len(left):
            open_to.remove(name)
            continue
        lost = np.maximum(likeness[left].mean(axis=1), 0.0) if likeness.shape[1] else 0.0
        at = left[np.argmax(scores[left] * (1 - penalty * lost))]
        is_left[at], unit = False, units[at]
        if skeleton(unit.text) in texts or documents[unit.document] >= most:
            continue
        counts[name] += 1
        if name in capped and counts[name] == quotas[name]:
            open_to.remove(name)
        chosen.append(Proposal(unit, name, float(scores[at])))
        documents[unit.document] += 1
        new = [unit]
    return chosen


def _direction(unit: Unit, mean: Floats1d | float) -> Floats1d:
    """The vector of a sentence less the mean, of unit length."""
    own = np.asarray(unit.vector) - mean
    return own / max(float(np.linalg.norm(own)), 1e-12)
