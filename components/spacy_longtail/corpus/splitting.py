"""A converted corpus into stratified parts or folds."""

import re
import shutil
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc
from thinc.types import Ints1d

from ..errors import Errors, Warnings
from ..output.amounts import number
from ..output.writing import NEW, check_folder, is_file_name
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
from .splits import bound_groups, check_shares, ungroupable
from .units import Units, assign, divide, plain_text

ALL = "all"  # the part of a corpus that was converted from one file
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
MIN_FOLDS = 3  # train, dev and test
SHARE = re.compile(r"([\w-]+)\s*=\s*(-?(?:\d+\.?\d*|\.\d+))")


class Part(NamedTuple):
    share: float  # wanted
    n_docs: int
    n_sentences: int
    mentions: dict[str, int]


class Split(NamedTuple):
    types: CorpusTypes
    parts: dict[str, Part]  # of folds: what each has as its test part


class _Source(NamedTuple):
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
    check_folder(target, [found.docs])
    for name in ["."] if folds is None else wanted:
        check_corpus_folder(target / name, made, [found.docs])
    docs = load_docs(found.docs, spacy.blank("xx"))
    if group_by is not None:
        _check_key(docs, group_by, found.docs)
    units = divide(docs, unit, found.types.labels if found.types else [])
    texts = [None if scatter_duplicates else plain_text(doc.text) for doc in units.docs]
    keys = [_value(doc, group_by) for doc in units.docs]
    groups = bound_groups(texts, keys)
    if (n_groups := int(groups.max(initial=-1)) + 1) < len(wanted):
        least = 2 if folds is None else MIN_FOLDS
        raise ungroupable(n_groups, len(wanted), _more_groups(units, texts, keys, len(wanted), least))
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
        if match is None or match[1] in shares:
            problem = f"{piece!r} is {'no NAME=NUMBER' if match is None else 'there twice'}"
            raise ValueError(Errors.L440.format(found=text, problem=problem))
        if not is_file_name(match[1]):
            problem = f"Windows has no file of the name {match[1]!r}"
            raise ValueError(Errors.L440.format(found=text, problem=problem))
        shares[match[1]] = float(match[2])
    return shares


def _wanted(shares: Mapping[str, float] | None, folds: int | None) -> dict[str, float]:
    if folds is None:
        check_shares(shares or SHARES)
        return dict(shares or SHARES)
    if shares is not None:
        raise ValueError(Errors.L444.format(found=", ".join(shares)))
    if folds < MIN_FOLDS:
        raise ValueError(Errors.L443.format(found=folds))
    return {f"fold-{i}": 1 / folds for i in range(folds)}


def _find(source: Path, target: Path, part: str | None, made: tuple[str, ...]) -> _Source:
    """What to split, and which of the corpus's parts stay as they are: those that are not made again."""
    places = {name: part_path(source, name) for name in (ALL, *PARTS, *([part] if part else []))}
    places = {name: path for name, path in places.items() if path.exists()}
    typed = (source / "types.json").is_file()
    bare = not (places or typed)
    inside = bare and source.resolve() in target.resolve().parents
    if target.is_file() or target.resolve() == source.resolve() or inside:
        raise ValueError(Errors.L448.format(source=source, target=target))
    if bare:
        if part is not None and source.exists():
            raise ValueError(Errors.L449.format(part=part, path=source))
        return _Source(source, None, [])
    wanted = part or (ALL if ALL in places else "train")
    if wanted not in places:
        known = ", ".join(places) or "none"
        raise ValueError(Errors.L441.format(path=source, part=wanted, found=known))
    others = [name for name in places if name not in (wanted, ALL)]
    lost = [name for name in others if name in made]
    if lost:
        warnings.warn(Warnings.W041.format(parts=", ".join(lost)), stacklevel=3)
    kept = [places[name] for name in others if name not in made]
    return _Source(places[wanted], read_types(source) if typed else None, kept)


def _check_key(docs: list[Doc], key: str, path: Path) -> None:
    n_without = sum(key not in doc.user_data for doc in docs)
    if n_without == len(docs):
        known = sorted({name for doc in docs for name in doc.user_data if isinstance(name, str)})
        found = ", ".join(known) or "nothing"
        raise ValueError(Errors.L445.format(path=path, key=key, found=found))
    if n_without:
        warnings.warn(Warnings.W042.format(n=n_without, total=len(docs), key=key), stacklevel=3)


def _more_groups(
    units: Units,
    texts: Sequence[str | None],
    keys: Sequence[Hashable | None],
    n_parts: int,
    least: int,
) -> str:
    """How parts can be filled that have too few groups. least (int): The fewest parts there can be."""

    def enough(*bonds: Sequence[Hashable | None]) -> bool:
        return int(bound_groups(*bonds).max()) + 1 >= n_parts

    alone = [None] * len(texts)
    ways = ["ask for fewer parts"] if int(bound_groups(texts, keys).max()) + 1 >= least else []
    if keys == alone and len(units.docs) < n_parts <= units.sizes.sum():
        ways.append("use --unit sentence")
    if texts != alone and enough(alone, keys):
        ways.append("use --scatter-duplicates")
    if keys != alone and enough(texts, alone):
        ways.append("leave out --group-by")
    text = " or ".join(ways) or "add text: there is too little of it"
    return f"{text[0].upper()}{text[1:]}."


def _value(doc: Doc, key: str | None) -> Hashable:
    return repr(doc.user_data[key]) if key in doc.user_data else None  # a list cannot be hashed


def _part(units: Units, chosen: Ints1d, share: float) -> Part:
    mentions = units.mentions[chosen].sum(axis=0).tolist()
    by_type = dict(zip(units.labels, mentions, strict=True))
    return Part(share, len(chosen), int(units.sizes[chosen].sum()), by_type)


def _check_mentions(parts: Mapping[str, Part], labels: list[str], least: int, strict: bool) -> None:
    short = []
    for label in labels:
        found = {name: part.mentions[label] for name, part in parts.items()}
        if min(found.values()) < least:
            short.append(f"{label} ({', '.join(f'{name} {n}' for name, n in found.items())})")
    if not short:
        return
    shown = {"least": number(least, "mention"), "short": "; ".join(short)}
    if strict:
        raise ValueError(Errors.L446.format(**shown))
    warnings.warn(Warnings.W040.format(**shown), stacklevel=3)


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
                raise ValueError(Errors.L447.format(path=path))
