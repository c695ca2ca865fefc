"""A converted corpus into stratified parts or folds."""

import re
import shutil
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..errors import Errors, Warnings
from ..output.amounts import number
from ..output.writing import NEW, check_folder, check_outside, is_file_name
from ..settings import one_of
from .counts import count_docs
from .folder import (
    PARTS,
    CorpusTypes,
    check_corpus_folder,
    load_docs,
    part_path,
    read_types,
    write_corpus,
)
from .parts import replacing_parts
from .rare import TAIL
from .splits import SHARES_FIX, bound_groups, check_groups, check_shares, no_split
from .units import Units, assign, divide, plain_text

ALL = "all"  # the part of a corpus that was converted from one file
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
MIN_FOLDS = 3  # train, dev and test
SHARE = re.compile(r"([\w-]+)\s*=\s*(-?(?:\d+\.?\d*|\.\d+))")


class SplitPart(NamedTuple):
    share: float  # wanted
    n_docs: int
    n_sentences: int
    mentions: dict[str, int]


class Split(NamedTuple):
    types: CorpusTypes
    parts: dict[str, SplitPart]  # of folds: what each has as its test part


class _Divided(NamedTuple):
    docs: Path  # the part that is split
    types: CorpusTypes | None  # null where none are declared
    others: list[Path]  # parts that are carried over


def split_corpus(
    source: Path,
    target: Path,
    *,
    shares: Mapping[str, float] | None = None,
    folds: int | None = None,
    part: str | None = None,
    unit: Literal["doc", "sentence"] = "doc",
    group_by: str | None = None,
    scatter_duplicates: bool = False,
    min_mentions: int = 1,
    seed: int = 0,
    strict: bool = False,
) -> Split:
    """Write a corpus in parts that each have their share of every type. All files or none.

    source (Path): A folder that `convert` wrote, a .spacy file, or a folder of .spacy files.
    target (Path): The folder to write: PART.spacy and types.json, or one such folder fold-I per fold.
    shares (Optional[Mapping[str, float]]): Share of the sentences by part; null is 80, 10 and 10 %.
    folds (Optional[int]): Write folds instead: fold-I tests on fold I, dev is the next, train the rest.
    part (Optional[str]): Which part of the source to split; null is all, or train if there is no all.
    unit (str): "doc", or "sentence", which cuts documents at annotated boundaries outside entities.
    group_by (Optional[str]): Key in doc.user_data; documents with the same value stay together.
    scatter_duplicates (bool): Whether units of the same text may be in different parts.
    min_mentions (int): Least mentions of each type in each part.
    seed (int): Fixes the split.
    strict (bool): Whether a type that cannot be in all parts is an error, instead of a warning.
    """
    one_of("unit", unit, ("doc", "sentence"))
    wanted = _wanted(shares, folds)
    made = tuple(wanted) if folds is None else PARTS
    found = _find(source, target, part, made)
    for name in ["."] if folds is None else wanted:
        check_corpus_folder(target / name, made, [found.docs])
    docs = load_docs(found.docs, spacy.blank("xx"))
    if group_by is not None:
        _check_key(docs, group_by, found.docs)
    units = divide(docs, unit, found.types.labels if found.types else [])
    texts = [None if scatter_duplicates else plain_text(doc.text) for doc in units.docs]
    keys = [_value(doc, group_by) for doc in units.docs]
    groups = bound_groups(texts, keys)
    check_groups(int(groups.max(initial=-1)) + 1, len(wanted))
    of_unit = assign(units, groups, list(wanted.values()), min_mentions, seed)
    chosen = {name: np.flatnonzero(of_unit == i) for i, name in enumerate(wanted)}
    parts = {name: _part(units, chosen[name], share) for name, share in wanted.items()}
    _check_mentions(parts, units.labels, min_mentions, strict)
    types = found.types or _types(units.docs, chosen.get("train"))
    corpora = {".": chosen} if folds is None else dict(_folds(list(chosen.values())))
    _write(target, corpora, units.docs, types, found.others)
    return Split(types, parts)


def read_shares(text: str) -> dict[str, float]:
    """Shares as they are typed: train=0.8,dev=0.2."""
    shares: dict[str, float] = {}
    for piece in text.split(","):
        match = SHARE.fullmatch(piece.strip())
        if match is None or match[1] in shares or not is_file_name(match[1]):
            problem = f"{piece!r} is not the name of a file and a share, as train=0.8, each once"
            raise no_split(problem, SHARES_FIX)
        shares[match[1]] = float(match[2])
    return shares


def _wanted(shares: Mapping[str, float] | None, folds: int | None) -> dict[str, float]:
    if folds is None:
        check_shares(shares or SHARES)
        return dict(shares or SHARES)
    if shares is not None:
        problem = "--folds makes train, dev and test itself"
        raise ValueError(Errors.L420.format(name="parts", problem=problem))
    if folds < MIN_FOLDS:
        fix = "Each is test once, development once, and training otherwise."
        raise no_split(f"{folds} folds are fewer than {MIN_FOLDS}", fix)
    return {f"fold-{i}": 1 / folds for i in range(folds)}


def _find(source: Path, target: Path, part: str | None, made: tuple[str, ...]) -> _Divided:
    """What to split, and which of the corpus's parts stay as they are: those that are not made again."""
    places = {name: part_path(source, name) for name in (ALL, *PARTS, *([part] if part else []))}
    places = {name: path for name, path in places.items() if path.exists()}
    typed = (source / "types.json").is_file()
    is_bare = not (places or typed)
    check_folder(target, [source])
    if is_bare:
        check_outside(target, [source], "folder")
        if part is not None and source.exists():
            problem = f"{source} is no converted corpus with parts, and is split whole"
            raise ValueError(Errors.L420.format(name="part", problem=problem))
        return _Divided(source, None, [])
    wanted = part or (ALL if ALL in places else "train")
    if wanted not in places:
        problem = f"{source} has no part {wanted!r}, found {', '.join(places) or 'none'}"
        raise no_split(problem, "Name another with --part.")
    others = [name for name in places if name not in (wanted, ALL)]
    lost = [name for name in others if name in made]
    if lost:
        text = "since this split makes new ones. Name other parts to keep them"
        _warn(f"parts of the source are left out, {', '.join(lost)}, {text}")
    kept = [places[name] for name in others if name not in made]
    return _Divided(places[wanted], read_types(source) if typed else None, kept)


def _warn(problem: str) -> None:
    warnings.warn(Warnings.W040.format(problem=problem), stacklevel=4)


def _check_key(docs: list[Doc], key: str, path: Path) -> None:
    n_without = sum(key not in doc.user_data for doc in docs)
    if n_without == len(docs):
        known = sorted({name for doc in docs for name in doc.user_data if isinstance(name, str)})
        problem = f"no document of {path} has {key!r} in its user_data"
        raise no_split(problem, f"Give --group-by one of: {', '.join(known) or 'nothing'}.")
    if n_without:
        text = f"have no {key!r} in their user_data: each of them is a group of its own"
        _warn(f"{n_without} of {len(docs)} documents {text}")


def _value(doc: Doc, key: str | None) -> Hashable:
    return repr(doc.user_data[key]) if key in doc.user_data else None  # a list cannot be hashed


def _part(units: Units, chosen: Ints1d, share: float) -> SplitPart:
    mentions = units.mentions[chosen].sum(axis=0).tolist()
    by_type = dict(zip(units.labels, mentions, strict=True))
    return SplitPart(share, len(chosen), int(units.sizes[chosen].sum()), by_type)


def _check_mentions(parts: Mapping[str, SplitPart], labels: list[str], least: int, strict: bool) -> None:
    short = []
    for label in labels:
        found = {name: part.mentions[label] for name, part in parts.items()}
        if min(found.values()) < least:
            short.append(f"{label} ({', '.join(f'{name} {n}' for name, n in found.items())})")
    if not short:
        return
    problem = f"not every type has {number(least, 'mention')} in each part: {'; '.join(short)}"
    if strict:
        raise no_split(problem, "Annotate more of them, or lower --min-mentions.")
    _warn(f"{problem}. Scores on such a part say nothing about the type")


def _types(docs: list[Doc], train: Ints1d | None) -> CorpusTypes:
    """Types of a source that declares none. Folds have one tail together: they are to be compared."""
    rare_among = docs if train is None else [docs[i] for i in train]
    mentions = count_docs(rare_among).mentions
    return CorpusTypes(count_docs(docs).labels, TAIL.types(mentions))


def _folds(chosen: list[Ints1d]) -> Iterator[tuple[str, dict[str, Ints1d]]]:
    for i, test in enumerate(chosen):
        dev = (i + 1) % len(chosen)
        rest = [units for k, units in enumerate(chosen) if k not in (i, dev)]
        yield f"fold-{i}", {"train": np.sort(np.concatenate(rest)), "dev": chosen[dev], "test": test}


def _write(
    target: Path,
    corpora: Mapping[str, Mapping[str, Ints1d]],
    docs: list[Doc],
    types: CorpusTypes,
    others: list[Path],
) -> None:
    """Write every corpus with the parts that are carried over."""
    with ExitStack() as folders:
        new = set()
        for name, chosen in corpora.items():
            parts = {k: [docs[i] for i in units] for k, units in chosen.items()}
            replaced = [*parts, *(path.stem for path in others)]
            place = folders.enter_context(replacing_parts(target / name, replaced))
            write_corpus(place, parts, types)
            for path in others:
                copy = shutil.copytree if path.is_dir() else shutil.copyfile
                copy(path, place / path.name)
            new |= {target / name / path.relative_to(place) for path in place.rglob("*.spacy")}
        for path in sorted(target.rglob("*.spacy")):
            is_written = any(part.startswith(NEW) for part in path.relative_to(target).parts)
            if not is_written and path not in new:
                problem = f"it holds {path}, which is not of this split and would be taken for it"
                raise ValueError(Errors.L437.format(path=target, problem=problem))
