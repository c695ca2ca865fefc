"""Stratified splits: mentions and size of each group in, the part of each group out. Pure functions."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from thinc.types import Floats2d, Ints1d, Ints2d

from ..errors import Errors
from ..output.amounts import number
from ..settings import whole

SEARCH = 10_000  # steps back in search of groups that give every part its least mentions
SHARES_FIX = "Write shares as train=0.8,dev=0.1,test=0.1."
ROUNDS = 3  # of that search, each for types that the one before has left short
MOVES = 300  # of single groups, after every group has its part


def bound_groups(*keys: Sequence[Hashable | None]) -> Ints1d:
    """Number the groups of units that must stay together: those that share a key, over any chain.

    keys (Sequence[Optional[Hashable]]): One key per unit, for each kind of bond; null binds to nothing.
    RETURNS (Ints1d): (n_units,) the group of each unit, numbered by its first unit.
    """
    above = list(range(len(keys[0])))

    def top(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    for kind in keys:
        first: dict[Hashable, int] = {}
        for i, key in enumerate(kind):
            if key is not None:
                a, b = sorted((top(first.setdefault(key, i)), top(i)))
                above[b] = a
    return np.unique([top(i) for i in range(len(above))], return_inverse=True)[1]


def no_split(problem: str, fix: str) -> ValueError:
    """L440, to be raised."""
    return ValueError(Errors.L440.format(problem=problem, fix=fix))


def check_shares(shares: Mapping[str, float]) -> None:
    """Refuse shares that are not a split."""
    total = sum(shares.values())
    if len(shares) < 2 or not all(share > 0 for share in shares.values()) or abs(total - 1) > 1e-6:
        found = ",".join(f"{name}={share:g}" for name, share in shares.items())
        problem = f"{found} are not at least two shares above 0 that sum to 1"
        raise no_split(problem, SHARES_FIX)


def check_groups(n_groups: int, n_parts: int) -> None:
    """Refuse fewer groups than parts."""
    if n_groups < n_parts:
        problem = f"{number(n_groups, 'group')} of texts that stay together cannot fill {n_parts} parts"
        fix = "Ask for fewer parts, use --unit sentence or --scatter-duplicates, or add text."
        raise no_split(problem, fix)


def stratify(
    mentions: Ints2d, sizes: Ints1d, shares: Iterable[float], min_mentions: int = 1, seed: int = 0
) -> Ints1d:
    """Put groups into parts, so that each part has its share of the mentions of every type.

    First, groups are reserved that give every part its least mentions of each type, as far as there are
    enough. Then the rarest type's groups go, one by one, where most of it is wanted, then those of the
    next, and at last what has no mention. In the end, single groups move while that brings the parts
    nearer to their shares. A part exceeds its share by at most the largest group, unless more than that
    is reserved for it.

    mentions (Ints2d): (n_groups, n_types), mentions of each type.
    sizes (Ints1d): (n_groups,), sentences, at least 1.
    shares (Iterable[float]): Share of each part, above 0, in sum 1.
    min_mentions (int): Least mentions of each type in each part.
    seed (int): Fixes how ties are broken.
    RETURNS (Ints1d): (n_groups,), the part of each group.
    SOURCE: Sechidis et al. 2011, On the Stratification of Multi-Label Data, for the second step.
    """
    least = whole("min_mentions", min_mentions, "0 guarantees nothing.")
    rng = np.random.default_rng(whole("seed", seed, "Any such number will do."))
    order = rng.permutation(len(sizes))
    bare = sizes * (np.sum(mentions, axis=1) == 0)  # counts like a type
    amounts = np.column_stack([mentions, bare, sizes])[order].astype("float64")
    wanted = np.outer(np.asarray(list(shares)), amounts.sum(axis=0))
    check_groups(len(amounts), len(wanted))
    at_risk = wanted[:, :-2].min(axis=0) < 2 * least
    for _ in range(ROUNDS):
        part = _spread(amounts, wanted, _reserved(amounts, wanted, least, np.flatnonzero(at_risk)))
        short = (totals(amounts, part, len(wanted))[:, :-2] < least).any(axis=0)
        if not (short & ~at_risk).any():
            break
        at_risk |= short
    _refine(amounts, wanted, part, least)
    found = np.empty_like(part)
    found[order] = part
    return found


def totals(amounts: Floats2d, part: Ints1d, n_parts: int) -> Floats2d:
    """The sum of each column in each part; groups of part -1 are left out. (n_parts, n_columns)"""
    found = np.zeros((n_parts, amounts.shape[1]))
    np.add.at(found, part[part >= 0], amounts[part >= 0])
    return found


def _weights(wanted: Floats2d) -> Floats2d:
    """What squared deviations weigh: relative to what is wanted, the size as much as all types."""
    weights = 1 / np.maximum(wanted, 1.0) ** 2
    weights[:, -1] *= wanted.shape[1] - 1
    return weights


def _reserved(amounts: Floats2d, wanted: Floats2d, least: int, types: Ints1d) -> Ints1d:
    """Groups that give every part the least mentions of each type that has enough, and one group at all.

    types (Ints1d): (n,), the columns to reserve for.
    RETURNS (Ints1d): (n_groups,), the part, -1 where nothing is reserved.
    """
    gifts = np.minimum(amounts[:, types], least)
    gifts = gifts[:, gifts.sum(axis=0) >= len(wanted) * least]
    gifts = gifts[:, np.argsort(gifts.sum(axis=0), kind="stable")]  # the rarest first
    gifts = np.hstack([np.ones((len(amounts), 1)), gifts])
    floors = np.array([1] + [least] * (gifts.shape[1] - 1))
    found = _search(gifts, floors, amounts, wanted, SEARCH)
    if found is not None:
        return found
    kept: list[int] = []  # what cannot be reserved at once is tried type by type
    for column in range(len(floors)):
        columns = [*kept, column]
        limit = SEARCH // 4  # what cannot be met leaves time for the others
        tried = _search(gifts[:, columns], floors[columns], amounts, wanted, limit)
        if tried is not None:
            kept, found = columns, tried
    return found


def _search(
    gifts: Floats2d, floors: Ints1d, amounts: Floats2d, wanted: Floats2d, limit: int
) -> Ints1d | None:
    """Groups for every part so that each column reaches its floor, found by trying and going back.

    Going back is needed where documents hold several rare types: a part that takes the nearest document
    for one type may take the last one of another. Without it the least mentions would be a wish.

    gifts (Floats2d): (n_groups, n_columns), what a group adds to a floor. floors (Ints1d): (n_columns,).
    limit (int): The most steps back.
    RETURNS (Optional[Ints1d]): (n_groups,) parts, -1 where not needed; null if none was found.
    """
    part = np.full(len(gifts), -1)
    holders = [np.flatnonzero(column) for column in gifts.T]
    weights = _weights(wanted)
    had = np.zeros((len(wanted), len(floors)))
    held = np.zeros_like(wanted)
    free = gifts.sum(axis=0)

    def put(g: int, p: int, sign: int) -> None:
        part[g] = p if sign > 0 else -1
        had[p] += sign * gifts[g]
        held[p] += sign * amounts[g]
        free[:] -= sign * gifts[g]

    def options(need: Floats2d) -> tuple[int, Iterator[int]]:
        """A part, and the groups that help it with the scarcest need, the best fit first."""
        missing = need.sum(axis=0)
        scarcest = int(np.where(missing > 0, free / np.maximum(missing, 1), np.inf).argmin())
        p = int(need[:, scarcest].argmax())
        groups = holders[scarcest][part[holders[scarcest]] < 0]
        open_wants = wanted[p] - held[p]
        cost = (amounts[groups] * (amounts[groups] - 2 * open_wants)) @ weights[p]
        groups = groups[np.argsort(cost, kind="stable")]
        alike = np.unique(gifts[groups], axis=0, return_index=True)[1]  # one of each kind will do
        return p, iter(groups[np.sort(alike)].tolist())

    path: list[tuple[int, Iterator[int], int]] = []
    n_back = 0
    while n_back <= limit:
        need = np.maximum(floors - had, 0)
        if not need.any():
            return part
        p, groups = (0, iter(())) if (need.sum(axis=0) > free).any() else options(need)
        while (g := next(groups, None)) is None:
            if not path:
                return None
            p, groups, last = path.pop()
            put(last, p, -1)
            n_back += 1
        put(g, p, 1)
        path.append((p, groups, g))
    return None


def _spread(amounts: Floats2d, wanted: Floats2d, part: Ints1d) -> Ints1d:
    """Give each group that has no part one: the rarest type's first, then what has no mention.

    It goes where the greatest share of the type is still wanted, seen from the middle of the group, so
    that small parts get neither more nor less than theirs. A part that has its size takes no more.
    """
    part = part.copy()
    wants = (wanted - totals(amounts, part, len(wanted))).tolist()  # lists: faster element by element
    rows: list[list[tuple[int, float]]] = [[] for _ in amounts]
    for g, column in zip(*(i.tolist() for i in np.nonzero(amounts)), strict=True):
        rows[g].append((column, float(amounts[g, column])))
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
            for i, amount in rows[g]:
                wants[taker][i] -= amount
    return part


def _refine(amounts: Floats2d, wanted: Floats2d, part: Ints1d, least: int) -> None:
    """Move single groups, the best move first, while the parts come nearer to what is wanted. In place.

    No part loses its least mentions of a type or its last group, or grows beyond its size by more than
    the largest group.
    """
    weights = _weights(wanted)
    squares = amounts**2 @ weights.T
    floors = np.append(np.full(amounts.shape[1] - 2, least), [0, 0])
    groups = np.arange(len(amounts))
    size, limit = amounts[:, -1], wanted[:, -1] + amounts[:, -1].max()
    for _ in range(MOVES):
        have = totals(amounts, part, len(wanted))
        slopes = amounts @ (2 * weights * (have - wanted)).T
        leave = (squares - slopes)[groups, part]
        after = have[part] - amounts
        stays = ((after < floors) & (have[part] >= floors) & (amounts > 0)).any(axis=1)
        stays |= np.bincount(part, minlength=len(wanted))[part] == 1
        change = squares + slopes + leave[:, None]
        change[have[:, -1] + size[:, None] > limit] = np.inf
        change[stays] = np.inf
        change[groups, part] = np.inf
        g, p = np.unravel_index(change.argmin(), change.shape)
        if not change[g, p] < -1e-9:
            return
        part[g] = p
