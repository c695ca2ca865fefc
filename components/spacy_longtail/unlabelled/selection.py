"""Which of the kept sentences to propose: quotas of types, no near-duplicates, and a random share."""

import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import count
from typing import NamedTuple

import numpy as np
from thinc.types import Floats2d

from ..errors import Errors, Warnings
from ..output.amounts import number
from .scan import RANDOM, Scan
from .units import Unit, skeleton

NEAR = 0.97  # cosine of vectors less their mean, above which two sentences are near-duplicates
KEPT = 10  # candidates per label of a quota
FEWEST = 200  # candidates of each type at least
NEIGHBOURS = 3  # of those chosen, whose mean likeness is the penalty


class Diversity(NamedTuple):
    """How proposals are kept apart.

    penalty (float): How much of its score a sentence loses that is like those chosen, in [0, 1].
    spread (float): Share of each quota that is taken from sentences further down, evenly over ranks.
    per_document (float): Largest share of all proposals that one text of the pool may give.
    """

    penalty: float = 0.5
    spread: float = 0.1
    per_document: float = 0.1


class Proposal(NamedTuple):
    unit: Unit
    chosen_for: str  # a type, or "random"
    score: float  # expected mentions of the type; of a random one, of all rare types


def share_out(n: int, types: list[str], given: Mapping[str, int]) -> dict[str, int]:
    """Labels for each type: as given, the rest in equal parts, the first types one more.

    n (int): Labels in all. types (List[str]): The rare types. given (Mapping[str, int]): By type.
    RAISES (ValueError): L505.
    """
    unknown = sorted(set(given) - set(types))
    if unknown or sum(given.values()) > n or min(given.values(), default=0) < 0:
        shown = ",".join(f"{t}={k}" for t, k in given.items())
        raise ValueError(Errors.L505.format(found=shown, n=n, known=", ".join(types)))
    rest = [t for t in types if t not in given]
    left = n - sum(given.values())
    each, more = divmod(left, len(rest)) if rest else (0, 0)
    shares = {t: each + (i < more) for i, t in enumerate(rest)}
    return {t: given.get(t, shares.get(t, 0)) for t in types}


def n_random_of(n: int, share: float) -> int:
    """How many of the labels are drawn by lot."""
    return round(share * n)


def warn_of_none(n: int, share: float, types: list[str], given: Mapping[str, int]) -> None:
    """Warn of types that get no label, though none was said of them.

    n (int): Labels in all. share (float): Of them that is drawn by lot, in [0, 1).
    types (List[str]): The rare types. given (Mapping[str, int]): Labels by type.
    """
    n_random = n_random_of(n, share)
    quotas = share_out(n - n_random, types, given)
    none = [label for label in types if not quotas[label] and label not in given]
    if not none:
        return
    wanted = sum(given.values()) + sum(label not in given for label in types)
    least = next(k for k in count(n + 1) if k - n_random_of(k, share) >= wanted)
    shown = {"n_random": n_random, "given": sum(given.values()), "types": ", ".join(none)}
    message = Warnings.W098.format(n=number(n, "label"), least=least, **shown)
    warnings.warn(message, stacklevel=2)


def ranking_sizes(quotas: Mapping[str, int]) -> dict[str, int]:
    """How many candidates to keep of each type. quotas (Mapping[str, int]): Labels by type."""
    return {label: max(FEWEST, KEPT * n) for label, n in quotas.items()}


def choose(
    scan: Scan,
    quotas: Mapping[str, int],
    n_random: int,
    diversity: Diversity,
    capped: Collection[str] = (),
) -> list[Proposal]:
    """The proposals: the random share first, then types in turn, whoever lacks most of its quota next.

    scan (Scan): What was kept of the pool. quotas (Mapping[str, int]): Labels by ranking.
    n_random (int): Sentences that are drawn by lot.
    capped (Collection[str]): Rankings that get no more than their quota; the others also get what a
        ranking cannot fill.
    RETURNS (List[Proposal]): No text twice.
    """
    chosen = [
        Proposal(unit, RANDOM, sum(unit.expected)) for _, unit in scan.best[RANDOM].ranked()[:n_random]
    ]
    n = n_random + sum(quotas.values())
    n_documents = len({unit.document for own in scan.best.values() for _, _, unit in own.heap})
    per_document = max(1, round(diversity.per_document * n), -(-n // max(1, n_documents)))
    state = _Chosen(diversity, per_document)
    for proposal in chosen:
        state.take(proposal.unit, is_random=True)
    queues = {name: _Queue(scan.best[name].ranked(), k, diversity) for name, k in quotas.items()}
    state.center([unit for queue in queues.values() for unit in queue.units])
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
        state.take(unit)
    return chosen


class _Chosen:
    """What was chosen so far, to be kept apart from."""

    def __init__(self, diversity: Diversity, per_document: int) -> None:
        self.diversity = diversity
        self.per_document = per_document
        self.texts: set[str] = set()
        self.documents: Counter[str] = Counter()
        self.units: list[Unit] = []
        self.mean: Floats2d | None = None
        self.rows: list[np.ndarray] = []

    def center(self, units: list[Unit]) -> None:
        """Likeness is to what sentences of this pool are like anyway."""
        if units:
            self.mean = np.mean([unit.vector for unit in units], axis=0)
            self.rows = [self.row(unit) for unit in self.units]

    def row(self, unit: Unit) -> np.ndarray:
        own = np.asarray(unit.vector) - (0.0 if self.mean is None else self.mean)
        return own / max(float(np.linalg.norm(own)), 1e-12)

    def take(self, unit: Unit, is_random: bool = False) -> None:
        self.texts.add(skeleton(unit.text))
        self.documents[unit.document] += not is_random  # lots ask for no document
        self.units.append(unit)
        self.rows.append(self.row(unit))


class _Queue:
    """The candidates of one ranking, best first, with those for the spread share apart."""

    def __init__(self, ranked: list[tuple[float, Unit]], quota: int, diversity: Diversity) -> None:
        self.scores = np.array([score for score, _ in ranked])
        self.units = [unit for _, unit in ranked]
        self.is_left = np.ones(len(ranked), dtype=bool)
        self.skeletons = [skeleton(unit.text) for unit in self.units]
        self.rows: Floats2d | None = None
        n_spread = min(round(diversity.spread * quota), max(0, len(ranked) - quota))
        places = np.linspace(quota, len(ranked) - 1, n_spread) if n_spread else np.zeros(0)
        self.spread = {round(quota * (i + 1) / n_spread): int(at) for i, at in enumerate(places)}
        self.n_given = 0
        self.likeness = np.zeros((len(ranked), 0))
        self.n_seen = 0

    def next(self, state: _Chosen) -> tuple[float, Unit] | None:
        """The candidate that is best by its score, less what it shares with those chosen."""
        if not self.units:
            return None
        if self.rows is None:
            self.rows = np.stack([state.row(unit) for unit in self.units])
        new = state.rows[self.n_seen :]
        self.n_seen = len(state.rows)
        if new:
            own = np.sort(np.concatenate([self.likeness, self.rows @ np.stack(new).T], axis=1), axis=1)
            self.likeness = own[:, -NEIGHBOURS:]
        near = np.zeros(len(self.units))
        if self.likeness.shape[1]:
            near = np.maximum(self.likeness.mean(axis=1), 0.0)
            self.is_left &= self.likeness[:, -1] < NEAR
        value = self.scores * (1 - state.diversity.penalty * near)
        self.n_given += 1
        first = self.spread.get(self.n_given)
        order = np.argsort(-value, kind="stable").tolist()
        for at in order if first is None else [first, *order]:
            unit = self.units[at]
            if not self.is_left[at]:
                continue
            if self.skeletons[at] in state.texts or state.documents[unit.document] >= state.per_document:
                self.is_left[at] = False
                continue
            self.is_left[at] = False
            return float(self.scores[at]), unit
        return None
