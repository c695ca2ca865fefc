"""Which of the kept sentences to propose: quotas of types, no near-duplicates, and a random share."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from thinc.types import Floats2d

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
    """Labels for each type: as given, the rest in equal parts, the first types one more.

    n (int): Labels in all. types (List[str]): The rare types. given (Mapping[str, int]): By type.
    """
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
    """The proposals: the random share first, then types in turn, whoever lacks most of its quota next.

    scan (Scan): What was kept of the pool. quotas (Mapping[str, int]): Labels by ranking.
    n_random (int): Sentences that are drawn by lot.
    penalty (float): How much of its score a sentence loses that is like those chosen, in [0, 1].
    capped (Collection[str]): Rankings that get no more than their quota; the others also get what a
        ranking cannot fill.
    per_document (float): Largest share of all proposals that one text of the pool may give.
    RETURNS (List[Proposal]): No text twice.
    """
    chosen = [
        Proposal(unit, RANDOM, sum(unit.expected)) for _, unit in scan.best[RANDOM].ranked()[:n_random]
    ]
    n = n_random + sum(quotas.values())
    n_documents = len({unit.document for own in scan.best.values() for _, _, unit in own.heap})
    most = max(1, round(per_document * n), -(-n // max(1, n_documents)))
    ranked = {name: scan.best[name].ranked() for name in quotas}
    units = [unit for own in ranked.values() for _, unit in own]
    state = _ChosenUnits(units, [proposal.unit for proposal in chosen], most)
    queues = {name: _Queue(own, state, penalty) for name, own in ranked.items()}
    counts: Counter[str] = Counter()
    open_to = [name for name, k in quotas.items() if k]
    while open_to and len(chosen) < n:
        lack = {name: (quotas[name] - counts[name]) / quotas[name] for name in open_to}
        name = max(open_to, key=lambda own: lack[own])
        found = queues[name].next(state)
        if found is None:
            open_to.remove(name)
            continue
        score, unit = found
        counts[name] += 1
        if name in capped and counts[name] == quotas[name]:
            open_to.remove(name)
        chosen.append(Proposal(unit, name, score))
        state.documents[unit.document] += 1
        state.take(unit)
    return chosen


class _ChosenUnits:
    """What was chosen so far, to be kept apart from.

    units (List[Unit]): All candidates: likeness is to what they are not all like anyway.
    drawn (List[Unit]): By lot. per_document (int): Proposals that a text may give.
    """

    def __init__(self, units: list[Unit], drawn: list[Unit], per_document: int) -> None:
        self.per_document = per_document
        self.texts: set[str] = set()
        self.documents: Counter[str] = Counter()  # lots ask for no document
        self.mean = np.mean([unit.vector for unit in units], axis=0) if units else 0.0
        self.rows: list[np.ndarray] = []
        for unit in drawn:
            self.take(unit)

    def row(self, unit: Unit) -> np.ndarray:
        """The vector of a sentence less the mean, of unit length."""
        own = np.asarray(unit.vector) - self.mean
        return own / max(float(np.linalg.norm(own)), 1e-12)

    def take(self, unit: Unit) -> None:
        self.texts.add(skeleton(unit.text))
        self.rows.append(self.row(unit))


class _Queue:
    """The candidates of one ranking, best first."""

    def __init__(self, ranked: list[tuple[float, Unit]], state: _ChosenUnits, penalty: float) -> None:
        self.scores, self.penalty = np.array([score for score, _ in ranked]), penalty
        self.units = [unit for _, unit in ranked]
        self.is_left = np.ones(len(ranked), dtype=bool)
        self.skeletons = [skeleton(unit.text) for unit in self.units]
        self.rows: Floats2d = np.array([state.row(unit) for unit in self.units])
        self.likeness = np.zeros((len(ranked), 0))
        self.n_seen = 0

    def next(self, state: _ChosenUnits) -> tuple[float, Unit] | None:
        """The candidate that is best by its score, less what it shares with those chosen."""
        new, self.n_seen = state.rows[self.n_seen :], len(state.rows)
        near = np.zeros(len(self.units))
        if new and self.units:
            own = np.sort(np.concatenate([self.likeness, self.rows @ np.stack(new).T], axis=1), axis=1)
            self.likeness = own[:, -NEIGHBOURS:]
        if self.likeness.shape[1]:
            near = np.maximum(self.likeness.mean(axis=1), 0.0)
            self.is_left &= self.likeness[:, -1] < NEAR
        value = self.scores * (1 - self.penalty * near)
        for at in np.argsort(-value, kind="stable").tolist():
            if self.is_left[at]:
                self.is_left[at] = False
                unit = self.units[at]
                is_full = state.documents[unit.document] >= state.per_document
                if self.skeletons[at] not in state.texts and not is_full:
                    return float(self.scores[at]), unit
        return None
