"""Stratified parts: groups of units that must stay together, and the part of each group."""

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from thinc.types import Floats2d, Ints1d, Ints2d

MAX_STEPS_BACK = 10_000  # of a search for groups that give every part its minimum of mentions
MAX_ROUNDS = 3  # of that search, each for types that were short after the one before
MAX_MOVES = 300  # of single groups, after every group has a part


def connected_groups(*keys: Sequence[Hashable | None]) -> Ints1d:
    """Return the groups of units that are connected by equal keys, over any chain.

    keys (Sequence[Optional[Hashable]]): A key per unit, for each kind of bond; null binds nothing.
    RETURNS (Ints1d): Group of each unit, numbered by its first unit, shape (n_units,).
    """
    joined = list(range(len(keys[0])))
    for kind in keys:
        first: dict[Hashable, int] = {}
        for i, key in enumerate(kind):
            if key is not None:
                a, b = sorted((_root(joined, first.setdefault(key, i)), _root(joined, i)))
                joined[b] = a
    return _numbered(joined)


def holders_of(keys: Iterable[Iterable[int]], owners: Iterable[int]) -> dict[int, set[int]]:
    """Return the owners of each key.

    keys (Iterable[Iterable[int]]): Keys of each owner.
    owners (Iterable[int]): The owners.
    """
    holders: dict[int, set[int]] = {}
    for owner, own in zip(owners, keys, strict=True):
        for key in own:
            holders.setdefault(key, set()).add(owner)
    return holders


def join_groups(
    groups: Ints1d, sentences: Sequence[Iterable[int]], sizes: Ints1d, shares: Sequence[float]
) -> Ints1d:
    """Join groups that have a sentence in common, sentences in the fewest groups first.

    A greeting or a headline that is in most documents would join all of them. A sentence is
    therefore ignored if its groups together would exceed half of the largest part, unless these are
    only two of the given groups; or if fewer groups than parts would be left.

    groups (Ints1d): Group of each unit, from 0, shape (n_units,).
    sentences (Sequence[Iterable[int]]): Keys of the sentences of each unit.
    sizes (Ints1d): Number of sentences of each unit, shape (n_units,).
    shares (Sequence[float]): Share of each part.
    RETURNS (Ints1d): New group of each unit, numbered from 0, shape (n_units,).
    """
    holders = holders_of(sentences, groups.tolist())
    weights = np.bincount(groups, weights=sizes).tolist()
    limit, joined, n_left = max(shares) / 2 * sum(weights), list(range(len(weights))), len(weights)
    members = dict.fromkeys(joined, 1)
    for given in sorted((own for own in holders.values() if len(own) > 1), key=len):
        first, *others = sorted({_root(joined, group) for group in given})
        together = [first, *others]
        is_small = sum(weights[i] for i in together) <= limit or sum(members[i] for i in together) == 2
        if is_small and n_left - len(others) >= len(shares):
            n_left -= len(others)
            for i in others:
                joined[i] = first
                weights[first] += weights[i]
                members[first] += members[i]
    return np.unique(_numbered(joined)[groups], return_inverse=True)[1]


def _root(joined: list[int], i: int) -> int:
    """Return the group that a group has joined, over any chain."""
    while joined[i] != i:
        joined[i] = i = joined[joined[i]]
    return i


def _numbered(joined: list[int]) -> Ints1d:
    roots = [_root(joined, i) for i in range(len(joined))]
    return np.unique(np.array(roots, dtype="int64"), return_inverse=True)[1]


def stratify(
    mentions: Ints2d, sizes: Ints1d, shares: Sequence[float], min_mentions: int = 1, seed: int = 0
) -> Ints1d:
    """Return a part for each group, so that each part has its share of the mentions of every type.

    First, groups are reserved that give every part the minimum of mentions of each type, as far as
    there are enough. Then the groups of each type are placed where most of it is wanted, the rarest
    type first, followed by the groups without a mention. Finally, single groups are moved as long
    as this brings the parts nearer to their shares. A part exceeds its share by at most the largest
    group, unless more than that is reserved for it.

    mentions (Ints2d): Mentions of each type, shape (n_groups, n_types).
    sizes (Ints1d): Number of sentences, at least 1, shape (n_groups,).
    shares (Sequence[float]): Share of each part, above 0; their sum is 1.
    min_mentions (int): Minimum number of mentions of each type in each part.
    seed (int): Random seed, for ties.
    RETURNS (Ints1d): Part of each group, shape (n_groups,).
    SOURCE: Sechidis et al. 2011, On the Stratification of Multi-Label Data, for the second step.
    """
    order = np.random.default_rng(seed).permutation(len(sizes))
    bare = sizes * (np.sum(mentions, axis=1) == 0)  # counts like a type
    amounts = np.column_stack([mentions, bare, sizes])[order].astype("float64")
    wanted = np.outer(shares, amounts.sum(axis=0))
    at_risk = wanted[:, :-2].min(axis=0) < 2 * min_mentions
    for _ in range(MAX_ROUNDS):
        reserved = _reserved(amounts, wanted, min_mentions, np.flatnonzero(at_risk))
        part = _spread(amounts, wanted, reserved)
        short = (totals(amounts, part, len(wanted))[:, :-2] < min_mentions).any(axis=0)
        if not (short & ~at_risk).any():
            break
        at_risk |= short
    _refine(amounts, wanted, part, min_mentions)
    return part[np.argsort(order)]


def totals(amounts: Floats2d, part: Ints1d, n_parts: int) -> Floats2d:
    """Return the sum of each column in each part, (n_parts, n_columns), without part -1."""
    return np.stack([amounts[part == p].sum(axis=0) for p in range(n_parts)])


def _weights(wanted: Floats2d) -> Floats2d:
    """Return the weights of squared deviations: relative, and of the size as of all types."""
    weights = 1 / np.maximum(wanted, 1.0) ** 2
    weights[:, -1] *= wanted.shape[1] - 1
    return weights


def _reserved(amounts: Floats2d, wanted: Floats2d, min_mentions: int, types: Ints1d) -> Ints1d:
    """Reserve groups that give every part its minimum of the types that have enough, and a group.

    RETURNS (Ints1d): Part that each group is reserved for, or -1, shape (n_groups,).
    """
    gains = np.minimum(amounts[:, types], min_mentions)
    gains = gains[:, gains.sum(axis=0) >= len(wanted) * min_mentions]
    gains = gains[:, np.argsort(gains.sum(axis=0), kind="stable")]  # the rarest first
    gains = np.hstack([np.ones((len(amounts), 1)), gains])
    minima = np.array([1] + [min_mentions] * (gains.shape[1] - 1))
    part = Search(gains, minima, amounts, wanted).run(MAX_STEPS_BACK)
    kept: list[int] = []
    # without a solution for all types, each one is tried, with time left for the others
    for column in range(len(minima)) if part is None else ():
        columns = [*kept, column]
        tried = Search(gains[:, columns], minima[columns], amounts, wanted).run(MAX_STEPS_BACK // 4)
        if tried is not None:
            kept, part = columns, tried
    return part


class Search:
    """Search with backtracking for groups that raise each column of every part to its minimum.

    Taking the best group for one type may take the last group of another type.

    gains (Floats2d): Amount that a group adds to each column, shape (n_groups, n_columns).
    minima (Ints1d): Minimum of each column in each part, shape (n_columns,).
    amounts (Floats2d): Mentions and sentences of each group, shape (n_groups, n_types + 2).
    wanted (Floats2d): Amounts that the parts should have, shape (n_parts, n_types + 2).
    """

    def __init__(self, gains: Floats2d, minima: Ints1d, amounts: Floats2d, wanted: Floats2d) -> None:
        self.gains, self.minima, self.amounts, self.wanted = gains, minima, amounts, wanted
        self.weights = _weights(wanted)
        self.part = np.full(len(gains), -1)
        self.reached = np.zeros((len(wanted), len(minima)))  # gains of each part so far
        self.filled = np.zeros_like(wanted)  # amounts of each part so far
        self.free = gains.sum(axis=0)
        self.holders = [np.flatnonzero(column) for column in gains.T]

    def run(self, max_steps_back: int) -> Ints1d | None:
        """Return the parts of the groups, -1 where not needed; null if no solution was found."""
        path: list[tuple[int, Iterator[int], int]] = []
        n_back = 0
        while n_back <= max_steps_back:
            need = np.maximum(self.minima - self.reached, 0)
            if not need.any():
                return self.part
            is_lost = (need.sum(axis=0) > self.free).any()
            p, groups = (0, iter(())) if is_lost else self.candidates(need)
            while (group := next(groups, None)) is None:
                if not path:
                    return None
                p, groups, last = path.pop()
                self._put(last, p, -1)
                n_back += 1
            self._put(group, p, 1)
            path.append((p, groups, group))
        return None

    def candidates(self, need: Floats2d) -> tuple[int, Iterator[int]]:
        """Return a part, and the groups that help it with the scarcest need, the best fit first."""
        missing = need.sum(axis=0)
        scarcest = int(np.where(missing > 0, self.free / np.maximum(missing, 1), np.inf).argmin())
        p = int(need[:, scarcest].argmax())
        groups = self.holders[scarcest][self.part[self.holders[scarcest]] < 0]
        amounts = self.amounts[groups]
        cost = (amounts * (amounts - 2 * (self.wanted[p] - self.filled[p]))) @ self.weights[p]
        groups = groups[np.argsort(cost, kind="stable")]
        alike = np.unique(self.gains[groups], axis=0, return_index=True)[1]  # one of each is enough
        return p, iter(groups[np.sort(alike)].tolist())

    def _put(self, group: int, p: int, sign: int) -> None:
        """Give a group to a part, or with sign -1 take it back."""
        self.part[group] = p if sign > 0 else -1
        self.reached[p] += sign * self.gains[group]
        self.filled[p] += sign * self.amounts[group]
        self.free -= sign * self.gains[group]


def _spread(amounts: Floats2d, wanted: Floats2d, part: Ints1d) -> Ints1d:
    """Give each group without a part one: the rarest type first, groups without a mention last.

    A group goes where the greatest share of the type is still wanted, seen from the middle of the
    group, so that small parts get neither more nor less than their share. A part that has reached
    its size takes no more.
    """
    part = part.copy()
    wants = (wanted - totals(amounts, part, len(wanted))).tolist()  # lists: faster element by element
    rows = amounts.tolist()
    bare = amounts.shape[1] - 2
    while (part < 0).any():
        left = amounts[part < 0, :-1].sum(axis=0)
        column = min(np.flatnonzero(left).tolist(), key=lambda i: (i == bare, left[i]))
        target = wanted[:, column].tolist()
        groups = np.flatnonzero((part < 0) & (amounts[:, column] > 0))
        for g in groups[np.argsort(-amounts[groups, column], kind="stable")].tolist():
            half = amounts[g, column] / 2
            able = [p for p, want in enumerate(wants) if want[-1] > 1e-9]
            taker = max(able, key=lambda p: ((wants[p][column] - half) / target[p], wants[p][-1]))
            part[g] = taker
            wants[taker] = [want - amount for want, amount in zip(wants[taker], rows[g], strict=True)]
    return part


def _refine(amounts: Floats2d, wanted: Floats2d, part: Ints1d, min_mentions: int) -> None:
    """Move single groups in place, the best move first, while parts come nearer to what is wanted.

    No part loses its minimum of mentions of a type or its last group, or exceeds its size by more
    than the largest group.
    """
    weights = _weights(wanted)
    squares = amounts**2 @ weights.T
    minima = np.append(np.full(amounts.shape[1] - 2, min_mentions), [0, 0])
    groups = np.arange(len(amounts))
    size, limit = amounts[:, -1], wanted[:, -1] + amounts[:, -1].max()
    for _ in range(MAX_MOVES):
        have = totals(amounts, part, len(wanted))
        slopes = amounts @ (2 * weights * (have - wanted)).T
        leave = (squares - slopes)[groups, part]
        after = have[part] - amounts
        stays = ((after < minima) & (have[part] >= minima) & (amounts > 0)).any(axis=1)
        stays |= np.bincount(part, minlength=len(wanted))[part] == 1
        change = squares + slopes + leave[:, None]
        change[have[:, -1] + size[:, None] > limit] = np.inf
        change[stays] = np.inf
        change[groups, part] = np.inf
        g, p = np.unravel_index(change.argmin(), change.shape)
        if not change[g, p] < -1e-9:
            return
        part[g] = p
