"""A converted corpus into stratified parts or folds: each has its share of every type."""

import shutil
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc
from thinc.types import Floats2d, Ints1d, Ints2d

from ..errors import Errors, Warnings
from ..output.amounts import number, verb
from ..output.writing import NEW, check_folder, check_outside, is_file_name
from ..sentences import all_bounds, plain_text, sentence_lengths
from .counts import count_docs, entity_bounds
from .cutting import sentence_docs
from .folder import PARTS, CorpusTypes, check_corpus_folder, load_docs, read_types, write_corpus
from .likeness import sentence_keys
from .parts import part_path, replacing_parts
from .rare import tail_types

ALL = "all"  # the part of a corpus that was converted from one file
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
SHARES_FIX = "Write shares as train=0.8,dev=0.1,test=0.1."
SEARCH = 10_000  # steps back in search of groups that give every part its least mentions
ROUNDS = 3  # of that search, each for types that the one before has left short
SHOWN = 60  # characters of a sentence in a warning
MOVES = 300  # of single groups, after every group has its part


class Units(NamedTuple):
    """What is divided: documents or sentences."""

    docs: list[Doc]
    labels: list[str]
    mentions: Ints2d  # (n_units, n_types)
    sizes: Ints1d  # (n_units,), sentences


class SplitPart(NamedTuple):
    share: float  # wanted
    n_docs: int
    n_sentences: int
    mentions: dict[str, int]


class Split(NamedTuple):
    types: CorpusTypes
    parts: dict[str, SplitPart]  # of folds: what each has as its test part


def split_corpus(
    source: Path,
    target: Path,
    *,
    shares: Mapping[str, float] | None = None,
    folds: int | None = None,
    part: str | None = None,
    unit: Literal["doc", "sentence"] = "doc",
    group_by: str | None = None,
    near: bool = False,
    min_mentions: int = 1,
    seed: int = 0,
    strict: bool = False,
) -> Split:
    """Write a corpus in parts that each have their share of every type. All files or none.

    Documents of the same text stay in one part, and so do documents that share a sentence, unless
    that sentence is in so many that they would fill more than half of the largest part.

    source (Path): A folder that `convert` wrote, a .spacy file, or a folder of .spacy files.
    target (Path): The folder to write: PART.spacy and types.json, or such a folder fold-I per fold.
    shares (Optional[Mapping[str, float]]): Share of the sentences by part; null is 80, 10, 10 %.
    folds (Optional[int]): Write folds instead: fold-I tests on fold I, the next is dev.
    part (Optional[str]): Which part of the source to split; null is all, or train without an all.
    unit (str): "doc", or "sentence", which cuts documents at boundaries outside entities.
    group_by (Optional[str]): Key in doc.user_data; documents with the same value stay together.
        Null takes that of types.json. It is written there, and holds for later folds, too.
    near (bool): Whether sentences count as shared that differ in names and numbers alone.
    min_mentions (int): Least mentions of each type in each part.
    seed (int): Fixes the split.
    strict (bool): Whether a type that cannot be in all parts is an error, instead of a warning.
    """
    if strict and not min_mentions:
        raise ValueError(Errors.L420.format(name="strict", problem="--min-mentions 0 asks for none"))
    wanted = _wanted_shares(shares, folds)
    made = tuple(wanted) if folds is None else PARTS
    path, others = _part_to_split(source, target, part, made)
    for name in ["."] if folds is None else wanted:
        check_corpus_folder(target / name, made, [path])
    types = read_types(source) if (source / "types.json").is_file() else None
    docs = load_docs(path, spacy.blank("xx"))
    units = divide(docs, unit, types.labels if types else [])
    group_by = group_by or (types.group_by if types else None)
    sentences = [{*sentence_keys(doc, near)} for doc in units.docs]
    groups = bound_groups(_texts(units.docs), _keys(units.docs, group_by, path))
    groups = join_sharing(groups, sentences, units.sizes, list(wanted.values()))
    of_unit = assign(units, groups, list(wanted.values()), min_mentions, seed)
    _warn_of_shared(units.docs, sentences, of_unit, near)
    chosen = {name: np.flatnonzero(of_unit == i) for i, name in enumerate(wanted)}
    parts = {name: _counted(units, chosen[name], share) for name, share in wanted.items()}
    _check_mentions(parts, units.labels, min_mentions, strict)
    whole = _counted(units, np.arange(len(units.docs)), 1.0)
    if types is None:
        labels = count_docs(docs).labels
        types = CorpusTypes(labels, tail_types(whole.mentions, labels))
    if set(types.tail) == set(tail_types(whole.mentions, types.labels)):
        # not declared, so counted in the new training part; folds share one tail, to be comparable
        learnt = parts.get("train", whole)
        types = types._replace(tail=tail_types(learnt.mentions, types.labels))
    types = types._replace(group_by=group_by)
    corpora = {target: chosen}
    if folds is not None:
        corpora = {target / name: parts_of_fold(of_unit, i, folds) for i, name in enumerate(wanted)}
    _refuse_others(target, corpora, [*made, *(path.stem for path in others)])
    with ExitStack() as folders:
        for folder, rows_of in corpora.items():
            place = folders.enter_context(replacing_parts(folder, [*rows_of, *(p.stem for p in others)]))
            rows = {name: [units.docs[i] for i in rows] for name, rows in rows_of.items()}
            write_corpus(place, rows, types, source)
            for path in others:
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, place / path.name)
    return Split(types, parts)


def read_shares(text: str) -> dict[str, float]:
    """Shares as they are typed: train=0.8,dev=0.2."""
    shares: dict[str, float] = {}
    for piece in text.split(","):
        name, _, share = (side.strip() for side in piece.partition("="))
        is_share = share.replace(".", "", 1).lstrip("-").isdecimal()
        if not is_share or name in shares or not is_file_name(name):
            problem = f"{piece!r} is not the name of a file and a share, as train=0.8, each once"
            raise _no_split(problem, SHARES_FIX)
        shares[name] = float(share)
    return shares


def divide(docs: list[Doc], unit: str, declared: list[str]) -> Units:
    """The units of a corpus.

    declared (List[str]): Types that come first among the labels, whether they occur or not.
    """
    parts = docs if unit == "doc" else [part for doc in docs for part in sentence_docs(doc)]
    labels = list(dict.fromkeys([*declared, *count_docs(docs).labels]))
    column = {label: i for i, label in enumerate(labels)}
    mentions = np.zeros((len(parts), len(labels)), dtype="int64")
    for row, doc in zip(mentions, parts, strict=True):
        for *_, label in entity_bounds(doc):
            row[column[doc.vocab.strings[label]]] += 1
    sizes = np.array([max(len(sentence_lengths(doc)), 1) for doc in parts])
    return Units(parts, labels, mentions, sizes)


def assign(units: Units, groups: Ints1d, shares: list[float], least: int, seed: int) -> Ints1d:
    """The part of each unit, as `stratify` gives it to whole groups."""
    n_groups = int(groups.max(initial=-1)) + 1
    if n_groups < len(shares):
        text = "of texts that stay together cannot fill"
        fix = "Ask for fewer parts, use --unit sentence, or add text."
        raise _no_split(f"{number(n_groups, 'group')} {text} {len(shares)} parts", fix)
    amounts = np.zeros((n_groups, len(units.labels) + 1), dtype="int64")
    np.add.at(amounts, groups, np.hstack([units.mentions, units.sizes[:, None]]))
    return stratify(amounts[:, :-1], amounts[:, -1], shares, least, seed)[groups]


def document_folds(docs: list[Doc], folds: int, seed: int = 0, group_by: str | None = None) -> Ints1d:
    """Return the fold of each document, stratified over types as `split_corpus` does it.

    docs (List[Doc]): The documents. folds (int): Number of folds. seed (int): Random seed.
    group_by (Optional[str]): Key in doc.user_data; documents with the same value stay together.
    RETURNS (Ints1d): (n_docs,)
    """
    units, shares = divide(docs, "doc", []), [1 / folds] * folds
    groups = bound_groups(_texts(docs), _values(docs, group_by))
    groups = join_sharing(groups, [{*sentence_keys(doc)} for doc in docs], units.sizes, shares)
    return assign(units, groups, shares, 1, seed)


def parts_of_fold(of_unit: Ints1d, i: int, n_folds: int) -> dict[str, Ints1d]:
    """The units of each part of a fold: it is the test part, and the next fold is the dev part.

    of_unit (Ints1d): (n_units,) the fold of each. i (int): The fold.
    """
    part = np.where(of_unit == i, 2, of_unit == (i + 1) % n_folds)
    return {name: np.flatnonzero(part == k) for k, name in enumerate(PARTS)}


def bound_groups(*keys: Sequence[Hashable | None]) -> Ints1d:
    """Number the groups of units that must stay together: those that share a key, over any chain.

    keys (Sequence[Optional[Hashable]]): A key per unit, for each kind of bond; null binds nothing.
    RETURNS (Ints1d): (n_units,) the group of each unit, numbered by its first unit.
    """
    above = list(range(len(keys[0])))
    for kind in keys:
        first: dict[Hashable, int] = {}
        for i, key in enumerate(kind):
            if key is not None:
                a, b = sorted((_top(above, first.setdefault(key, i)), _top(above, i)))
                above[b] = a
    return np.unique([_top(above, i) for i in range(len(above))], return_inverse=True)[1]


def join_sharing(
    groups: Ints1d, sentences: Sequence[Iterable[int]], sizes: Ints1d, shares: Sequence[float]
) -> Ints1d:
    """Join groups that share a sentence, those with the sentences of the fewest groups first.

    A greeting or a headline that stands in most documents would join all of them. A sentence is
    passed over if its groups, joined, were larger than half of the largest part, unless it is only
    two of the groups that were given; or if fewer groups than parts were left.

    groups (Ints1d): (n_units,), from 0. sentences (Sequence[Iterable[int]]): Keys of each unit's.
    sizes (Ints1d): (n_units,), sentences. shares (Sequence[float]): Share of each part.
    RETURNS (Ints1d): (n_units,), the new groups, numbered from 0.
    """
    holders: dict[int, set[int]] = {}
    for group, keys in zip(groups.tolist(), sentences, strict=True):
        for key in keys:
            holders.setdefault(key, set()).add(group)
    weights = np.bincount(groups, weights=sizes).tolist()
    limit, above, n_left = max(shares) / 2 * sum(weights), list(range(len(weights))), len(weights)
    members = dict.fromkeys(above, 1)
    for given in sorted((own for own in holders.values() if len(own) > 1), key=len):
        tops = sorted({_top(above, group) for group in given})
        is_small = sum(weights[i] for i in tops) <= limit or sum(members[i] for i in tops) == 2
        if is_small and n_left - len(tops) + 1 >= len(shares):
            n_left -= len(tops) - 1
            for i in tops[1:]:
                above[i] = tops[0]
                weights[tops[0]] += weights[i]
                members[tops[0]] += members[i]
    joined = np.array([_top(above, i) for i in range(len(above))], dtype="int64")
    return np.unique(joined[groups], return_inverse=True)[1]


def _top(above: list[int], i: int) -> int:
    """Return the group that a group has joined, over any chain."""
    while above[i] != i:
        above[i] = i = above[above[i]]
    return i


def _texts(docs: Iterable[Doc]) -> list[str]:
    return [plain_text(doc.text) for doc in docs]


def _values(docs: Iterable[Doc], name: str | None) -> list[str | None]:
    return [repr(doc.user_data[name]) if name in doc.user_data else None for doc in docs]


def _warn_of_shared(
    docs: list[Doc], sentences: Sequence[Iterable[int]], of_unit: Ints1d, near: bool
) -> None:
    """Warn of sentences that could not be kept in one part."""
    holders: dict[int, list[int]] = {}
    for i, keys in enumerate(sentences):
        for key in keys:
            holders.setdefault(key, []).append(i)
    apart = {key: own for key, own in holders.items() if len({*of_unit[own].tolist()}) > 1}
    if apart:
        key = max(apart, key=lambda key: len(apart[key]))
        doc = docs[apart[key][0]]
        at = list(sentence_keys(doc, near)).index(key)
        text = [t for start, end in all_bounds(doc) if (t := doc[start:end].text).strip()][at]
        stand = f"{number(len(apart), 'sentence')} {verb(len(apart), 'stand')} in more than one part"
        most = f"{text.strip()[:SHOWN]!r} is in {number(len(apart[key]), 'document')}"
        _warn(f"{stand}. To keep all their documents together would leave parts without any: {most}")


def stratify(
    mentions: Ints2d, sizes: Ints1d, shares: Sequence[float], least: int = 1, seed: int = 0
) -> Ints1d:
    """Put groups into parts, so that each part has its share of the mentions of every type.

    First, groups are reserved that give every part its least mentions of each type, as far as there
    are enough. Then each type's groups go where most of it is wanted, the rarest type's first, and
    at last what has no mention. In the end, single groups move while that brings the parts nearer
    to their shares. A part exceeds its share by at most the largest group, unless more than that is
    reserved for it.

    mentions (Ints2d): (n_groups, n_types), mentions of each type.
    sizes (Ints1d): (n_groups,), sentences, at least 1.
    shares (Sequence[float]): Share of each part, above 0, in sum 1.
    least (int): Least mentions of each type in each part.
    seed (int): Fixes how ties are broken.
    RETURNS (Ints1d): (n_groups,), the part of each group.
    SOURCE: Sechidis et al. 2011, On the Stratification of Multi-Label Data, for the second step.
    """
    order = np.random.default_rng(seed).permutation(len(sizes))
    bare = sizes * (np.sum(mentions, axis=1) == 0)  # counts like a type
    amounts = np.column_stack([mentions, bare, sizes])[order].astype("float64")
    wanted = np.outer(shares, amounts.sum(axis=0))
    at_risk = wanted[:, :-2].min(axis=0) < 2 * least
    for _ in range(ROUNDS):
        part = _spread(amounts, wanted, _reserved(amounts, wanted, least, np.flatnonzero(at_risk)))
        short = (totals(amounts, part, len(wanted))[:, :-2] < least).any(axis=0)
        if not (short & ~at_risk).any():
            break
        at_risk |= short
    _refine(amounts, wanted, part, least)
    return part[np.argsort(order)]


def totals(amounts: Floats2d, part: Ints1d, n_parts: int) -> Floats2d:
    """The sum of each column in each part; groups of part -1 are left out. (n_parts, n_columns)"""
    return np.stack([amounts[part == p].sum(axis=0) for p in range(n_parts)])


def _weights(wanted: Floats2d) -> Floats2d:
    """What squared deviations weigh: relative to what is wanted, the size as much as all types."""
    weights = 1 / np.maximum(wanted, 1.0) ** 2
    weights[:, -1] *= wanted.shape[1] - 1
    return weights


def _reserved(amounts: Floats2d, wanted: Floats2d, least: int, types: Ints1d) -> Ints1d:
    """Groups that give every part its least mentions of types that have enough, and one at all.

    RETURNS (Ints1d): (n_groups,), the part, -1 where nothing is reserved.
    """
    gifts = np.minimum(amounts[:, types], least)
    gifts = gifts[:, gifts.sum(axis=0) >= len(wanted) * least]
    gifts = gifts[:, np.argsort(gifts.sum(axis=0), kind="stable")]  # the rarest first
    gifts = np.hstack([np.ones((len(amounts), 1)), gifts])
    floors = np.array([1] + [least] * (gifts.shape[1] - 1))
    part = _search(gifts, floors, amounts, wanted, SEARCH)
    kept: list[int] = []
    # what cannot be reserved at once is tried type by type, each with time left for the others
    for column in range(len(floors)) if part is None else ():
        columns = [*kept, column]
        tried = _search(gifts[:, columns], floors[columns], amounts, wanted, SEARCH // 4)
        if tried is not None:
            kept, part = columns, tried
    return part


def _search(
    gifts: Floats2d, floors: Ints1d, amounts: Floats2d, wanted: Floats2d, limit: int
) -> Ints1d | None:
    """Groups for every part so that each column reaches its floor, found by trying and going back.

    A part that takes the nearest document for one type may take the last one of another.
    gifts (Floats2d): (n_groups, n_columns), what a group adds to a floor. limit (int): Steps back.
    RETURNS (Optional[Ints1d]): (n_groups,) parts, -1 where not needed; null if none was found.
    """
    part, weights = np.full(len(gifts), -1), _weights(wanted)
    holders = [np.flatnonzero(column) for column in gifts.T]
    had, held = np.zeros((len(wanted), len(floors))), np.zeros_like(wanted)
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
        cost = (amounts[groups] * (amounts[groups] - 2 * (wanted[p] - held[p]))) @ weights[p]
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

    It goes where the greatest share of the type is still wanted, seen from the middle of the group:
    small parts get neither more nor less than theirs. A part that has its size takes no more.
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


def _refine(amounts: Floats2d, wanted: Floats2d, part: Ints1d, least: int) -> None:
    """Move single groups in place, the best move first, while parts come nearer to what is wanted.

    No part loses its least mentions of a type or its last group, or grows beyond its size by more
    than the largest group.
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


def _no_split(problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L440.format(problem=problem, fix=fix))


def _warn(problem: str) -> None:
    warnings.warn(Warnings.W040.format(problem=problem), stacklevel=4)


def _wanted_shares(shares: Mapping[str, float] | None, folds: int | None) -> dict[str, float]:
    """The share of each part, or of each fold."""
    if folds is None:
        shares = dict(shares or SHARES)
        if len(shares) < 2 or abs(sum(shares.values()) - 1) > 1e-6 or min(shares.values()) <= 0:
            given = ",".join(f"{name}={share:g}" for name, share in shares.items())
            raise _no_split(f"{given} are not at least two shares above 0 that sum to 1", SHARES_FIX)
        return shares
    if shares is not None:
        problem = "--folds makes train, dev and test itself"
        raise ValueError(Errors.L420.format(name="parts", problem=problem))
    if folds < len(PARTS):
        fix = "Each is test once, development once, and training otherwise."
        raise _no_split(f"{folds} folds are fewer than {len(PARTS)}", fix)
    return {f"fold-{i}": 1 / folds for i in range(folds)}


def _part_to_split(
    source: Path, target: Path, part: str | None, made: Sequence[str]
) -> tuple[Path, list[Path]]:
    """The part to split, and the corpus's parts that are carried over: those that are not made."""
    places = {name: part_path(source, name) for name in (ALL, *PARTS, *([part] if part else []))}
    places = {name: path for name, path in places.items() if path.exists()}
    check_folder(target, [source])
    if not places and not (source / "types.json").is_file():
        check_outside(target, [source], "folder")
        if part is not None and source.exists():
            problem = f"{source} is no converted corpus with parts, and is split whole"
            raise ValueError(Errors.L420.format(name="part", problem=problem))
        return source, []
    chosen = part or (ALL if ALL in places else "train")
    if chosen not in places:
        problem = f"{source} has no part {chosen!r}, found {', '.join(places) or 'none'}"
        raise _no_split(problem, "Name another with --part.")
    others = [name for name in places if name not in (chosen, ALL)]
    if lost := [name for name in others if name in made]:
        text = "since this split makes new ones. Name other parts to keep them"
        _warn(f"parts of the source are left out, {', '.join(lost)}, {text}")
    return places[chosen], [places[name] for name in others if name not in made]


def _keys(docs: list[Doc], name: str | None, path: Path) -> list[str | None]:
    """The value of user_data that binds each unit to others; null where it binds to none."""
    keys = _values(docs, name)
    n_without = keys.count(None)
    if name is not None and n_without == len(docs):
        known = sorted({key for doc in docs for key in doc.user_data if isinstance(key, str)})
        problem = f"no document of {path} has {name!r} in its user_data"
        raise _no_split(problem, f"Give --group-by one of: {', '.join(known) or 'nothing'}.")
    if name is not None and n_without:
        text = f"have no {name!r} in their user_data: each of them is a group of its own"
        _warn(f"{n_without} of {len(docs)} units {text}")
    return keys


def _counted(units: Units, chosen: Ints1d, share: float) -> SplitPart:
    by_type = dict(zip(units.labels, units.mentions[chosen].sum(axis=0).tolist(), strict=True))
    return SplitPart(share, len(chosen), int(units.sizes[chosen].sum()), by_type)


def _check_mentions(parts: Mapping[str, SplitPart], labels: list[str], least: int, strict: bool) -> None:
    short = [
        f"{label} ({', '.join(f'{name} {part.mentions[label]}' for name, part in parts.items())})"
        for label in labels
        if min(part.mentions[label] for part in parts.values()) < least
    ]
    problem = f"not every type has {number(least, 'mention')} in each part: {'; '.join(short)}"
    if short and strict:
        raise _no_split(problem, "Annotate more of them, or lower --min-mentions.")
    if short:
        _warn(f"{problem}. Scores on such a part say nothing about the type")


def _refuse_others(target: Path, folders: Iterable[Path], parts: Iterable[str]) -> None:
    """Refuse a target with files that would be taken for parts of this split."""
    new = {folder / name for folder in folders for part in parts for name in (part, f"{part}.spacy")}
    for path in sorted(target.rglob("*.spacy")):
        if new.isdisjoint([path, *path.parents]) and NEW not in str(path.relative_to(target)):
            problem = f"it holds {path}, which is not of this split and would be taken for it"
            raise ValueError(Errors.L437.format(path=target, problem=problem))
