"""Splitting a converted corpus into stratified parts or cross-validation folds."""

import shutil
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc
from thinc.types import Ints1d, Ints2d

from ..errors import Errors, Warnings
from ..output.console import number, verb
from ..output.targets import check_folder, check_outside, is_file_name
from ..output.writing import NEW
from ..sentences import all_bounds, plain_text, sentence_lengths
from ..settings import parse_pairs
from .counts import count_docs, entity_bounds
from .cutting import sentence_docs
from .folder import (
    PARTS,
    TYPES,
    CorpusTypes,
    check_corpus_folder,
    load_docs,
    part_path,
    read_types,
    replacing_parts,
    write_corpus,
)
from .likeness import sentence_keys
from .names import NAMES
from .rare import tail_types
from .stratification import connected_groups, holders_of, join_groups, stratify

ALL = "all"  # the part of a corpus that was converted from one file
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
SHARES_FIX = "Write shares as train=0.8,dev=0.1,test=0.1."
SHOWN = 60  # characters of a sentence in a warning


class Units(NamedTuple):
    """Units that are assigned to parts: documents or sentences."""

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
    parts: dict[str, SplitPart]  # or the test part of each fold


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
    """Write a corpus in parts that each have their share of every type; all files or none.

    Documents of the same text stay in one part, and so do documents that share a sentence, unless
    that sentence is in so many that they would fill more than half of the largest part.

    source (Path): A folder that `convert` wrote, a .spacy file, or a folder of .spacy files.
    target (Path): The folder to write: PART.spacy and types.json, or such a folder fold-I per fold.
    shares (Optional[Mapping[str, float]]): Fraction of the sentences in each part. Defaults to 80 %
        train, 10 % dev and 10 % test.
    folds (Optional[int]): Number of cross-validation folds to write instead: in fold-I, fold I is
        the test part and the next one is dev.
    part (Optional[str]): Part of the source to split. Defaults to "all", or "train" if there is no
        part "all".
    unit (str): "doc", or "sentence", which cuts documents at boundaries outside entities.
    group_by (Optional[str]): Key in doc.user_data; documents with the same value stay together.
        Defaults to that of types.json. It is written to types.json, so that it also holds for later
        folds.
    near (bool): Whether sentences that differ only in names and numbers count as shared.
    min_mentions (int): Minimum number of mentions of each type in each part.
    seed (int): Random seed.
    strict (bool): Whether a type that cannot be in all parts is an error, instead of a warning.
    """
    if strict and not min_mentions:
        raise ValueError(Errors.L420.format(name="strict", problem="--min-mentions 0 asks for none"))
    wanted = _wanted_shares(shares, folds)
    made = tuple(wanted) if folds is None else PARTS
    path, others = _part_to_split(source, target, part, made)
    for name in ["."] if folds is None else wanted:
        check_corpus_folder(target / name, made, [path])

    types = read_types(source) if (source / TYPES).is_file() else None
    docs = load_docs(path, spacy.blank("xx"))
    units = divide(docs, unit, types.labels if types else [])
    group_by = group_by or (types.group_by if types else None)
    bonds = _bonds(units.docs, group_by, path)
    of_unit = assign(units, list(wanted.values()), bonds, min_mentions, seed, near)
    _warn_of_shared(units.docs, of_unit, near)
    chosen = {name: np.flatnonzero(of_unit == i) for i, name in enumerate(wanted)}
    parts = {name: _counted(units, chosen[name], share) for name, share in wanted.items()}
    _check_mentions(parts, units.labels, min_mentions, strict)
    types = _types_of(units, types, parts, group_by)
    corpora = {target: chosen}
    if folds is not None:
        corpora = {target / name: parts_of_fold(of_unit, i, folds) for i, name in enumerate(wanted)}
    _refuse_others(target, corpora, [*made, *(path.stem for path in others)])
    _write(corpora, units.docs, types, source, others)
    return Split(types, parts)


def _types_of(
    units: Units, types: CorpusTypes | None, parts: Mapping[str, SplitPart], group_by: str | None
) -> CorpusTypes:
    """Return the types of the new corpora.

    A tail that was not declared is counted again in the new training part. All folds have the same
    tail, so that they can be compared.

    units (Units): The units of the source.
    types (Optional[CorpusTypes]): The types of the source, if it has types.json.
    parts (Mapping[str, SplitPart]): The new parts.
    group_by (Optional[str]): Key in doc.user_data that keeps documents together.
    """
    whole = _counted(units, np.arange(len(units.docs)), 1.0)
    types = types or CorpusTypes(units.labels, tail_types(whole.mentions, units.labels))
    if set(types.tail) == set(tail_types(whole.mentions, types.labels)):
        training = parts.get("train", whole)
        types = types._replace(tail=tail_types(training.mentions, types.labels))
    return types._replace(group_by=group_by)


def _write(
    corpora: Mapping[Path, Mapping[str, Ints1d]],
    docs: list[Doc],
    types: CorpusTypes,
    source: Path,
    others: list[Path],
) -> None:
    """Write all corpora, or none.

    corpora (Mapping[Path, Mapping[str, Ints1d]]): Units of each part, by folder.
    docs (List[Doc]): The units.
    types (CorpusTypes): Types of the corpora.
    source (Path): The corpus that was split, whose lists of names are copied.
    others (List[Path]): Other parts of the source, which are copied.
    """
    with ExitStack() as folders:
        for folder, units_of in corpora.items():
            place = folders.enter_context(
                replacing_parts(folder, [*units_of, *(p.stem for p in others)], [NAMES])
            )
            parts = {name: [docs[i] for i in units] for name, units in units_of.items()}
            write_corpus(place, parts, types, source)
            for path in others:
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, place / path.name)


def read_shares(text: str) -> dict[str, float]:
    """Parse the shares of the parts, such as train=0.8,dev=0.2.

    RAISES (ValueError): If the text has another form (L440).
    """
    with suppress(ValueError):
        shares = parse_pairs(text.split(","), float)
        if all(is_file_name(name) and 0 < share < 1 for name, share in shares.items()):
            return shares
    raise _no_split(f"{text!r} does not name each part once, with a share between 0 and 1", SHARES_FIX)


def divide(docs: list[Doc], unit: str, declared: list[str]) -> Units:
    """Return the units of a corpus.

    docs (List[Doc]): The documents.
    unit (str): "doc" or "sentence".
    declared (List[str]): Types that come first among the labels, even if they do not occur.
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


def assign(
    units: Units,
    shares: Sequence[float],
    bonds: Sequence[Hashable | None],
    min_mentions: int = 1,
    seed: int = 0,
    near: bool = False,
) -> Ints1d:
    """Return the part of each unit, stratified over types.

    Units of the same text get one part, and so do units that share a sentence, as far as possible.

    units (Units): The units.
    shares (Sequence[float]): Fraction of the sentences in each part.
    bonds (Sequence[Optional[Hashable]]): Units with the same value get one part; null is no bond.
    min_mentions (int): Minimum number of mentions of each type in each part.
    seed (int): Random seed.
    near (bool): Whether sentences that differ only in names and numbers count as shared.
    RETURNS (Ints1d): Shape (n_units,).
    RAISES (ValueError): L440 if there are fewer groups than parts.
    """
    groups = connected_groups([plain_text(doc.text) for doc in units.docs], bonds)
    sentences = [{*sentence_keys(doc, near)} for doc in units.docs]
    groups = join_groups(groups, sentences, units.sizes, shares)
    n_groups = int(groups.max(initial=-1)) + 1
    if n_groups < len(shares):
        raise _no_split(
            f"{number(n_groups, 'group')} of texts that stay together cannot fill {len(shares)} parts",
            "Ask for fewer parts, use --unit sentence, or add text.",
        )
    amounts = np.zeros((n_groups, len(units.labels) + 1), dtype="int64")
    np.add.at(amounts, groups, np.hstack([units.mentions, units.sizes[:, None]]))
    return stratify(amounts[:, :-1], amounts[:, -1], shares, min_mentions, seed)[groups]


def document_folds(docs: list[Doc], folds: int, seed: int = 0, group_by: str | None = None) -> Ints1d:
    """Return the fold of each document, stratified over types as `split_corpus` does it.

    docs (List[Doc]): The documents.
    folds (int): Number of folds.
    seed (int): Random seed.
    group_by (Optional[str]): Key in doc.user_data; documents with the same value stay together.
    RETURNS (Ints1d): Shape (n_docs,).
    """
    return assign(divide(docs, "doc", []), [1 / folds] * folds, _values(docs, group_by), seed=seed)


def parts_of_fold(of_unit: Ints1d, i: int, n_folds: int) -> dict[str, Ints1d]:
    """Return the units of each part of a fold: it is the test part, and the next fold is dev.

    of_unit (Ints1d): Fold of each unit, shape (n_units,).
    i (int): The fold.
    n_folds (int): Number of folds.
    """
    part = np.where(of_unit == i, 2, of_unit == (i + 1) % n_folds)
    return {name: np.flatnonzero(part == k) for k, name in enumerate(PARTS)}


def _values(docs: Iterable[Doc], name: str | None) -> list[str | None]:
    return [repr(doc.user_data[name]) if name in doc.user_data else None for doc in docs]


def _warn_of_shared(docs: list[Doc], of_unit: Ints1d, near: bool) -> None:
    """Warn of sentences that could not be kept in one part."""
    holders = holders_of(({*sentence_keys(doc, near)} for doc in docs), range(len(docs)))
    apart = {key: own for key, own in holders.items() if len({*of_unit[list(own)].tolist()}) > 1}
    if apart:
        key = max(apart, key=lambda key: len(apart[key]))
        doc = docs[min(apart[key])]
        at = list(sentence_keys(doc, near)).index(key)
        text = [t for start, end in all_bounds(doc) if (t := doc[start:end].text).strip()][at]
        _warn(
            f"{number(len(apart), 'sentence')} {verb(len(apart), 'stand')} in more than one part. "
            "To keep all their documents together would leave parts without any: "
            f"{text.strip()[:SHOWN]!r} is in {number(len(apart[key]), 'document')}"
        )


def _no_split(problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L440.format(problem=problem, fix=fix))


def _warn(problem: str) -> None:
    warnings.warn(Warnings.W040.format(problem=problem), stacklevel=4)


def _wanted_shares(shares: Mapping[str, float] | None, folds: int | None) -> dict[str, float]:
    """Return the share of each part, or of each fold."""
    if folds is None:
        shares = dict(shares or SHARES)
        if len(shares) < 2 or abs(sum(shares.values()) - 1) > 1e-6 or min(shares.values()) <= 0:
            given = ",".join(f"{name}={share:g}" for name, share in shares.items())
            raise _no_split(f"{given} are not at least two shares above 0 that sum to 1", SHARES_FIX)
        return shares
    if shares is not None:
        raise ValueError(
            Errors.L420.format(name="parts", problem="--folds makes train, dev and test itself")
        )
    if folds < len(PARTS):
        raise _no_split(
            f"{folds} folds are fewer than {len(PARTS)}",
            "Each is test once, development once, and training otherwise.",
        )
    return {f"fold-{i}": 1 / folds for i in range(folds)}


def _part_to_split(
    source: Path, target: Path, part: str | None, made: Sequence[str]
) -> tuple[Path, list[Path]]:
    """Return the part to split, and the parts of the corpus that are copied: those not made."""
    places = {name: part_path(source, name) for name in (ALL, *PARTS, *([part] if part else []))}
    places = {name: path for name, path in places.items() if path.exists()}
    check_folder(target, [source])
    if not places and not (source / TYPES).is_file():
        check_outside(target, [source], "folder")
        if part is not None and source.exists():
            problem = f"{source} is no converted corpus with parts, and is split whole"
            raise ValueError(Errors.L420.format(name="part", problem=problem))
        return source, []
    chosen = part or (ALL if ALL in places else "train")
    if chosen not in places:
        raise _no_split(
            f"{source} has no part {chosen!r}, found {', '.join(places) or 'none'}",
            "Name another with --part.",
        )
    others = [name for name in places if name not in (chosen, ALL)]
    if lost := [name for name in others if name in made]:
        _warn(
            f"the parts {', '.join(lost)} of the source are not copied, because this split makes new "
            "ones. Name other parts to keep them"
        )
    return places[chosen], [places[name] for name in others if name not in made]


def _bonds(docs: list[Doc], name: str | None, path: Path) -> list[str | None]:
    """Return the value of user_data that binds each unit to others; null where it binds to none."""
    keys = _values(docs, name)
    n_without = keys.count(None)
    if name is not None and n_without == len(docs):
        known = sorted({key for doc in docs for key in doc.user_data if isinstance(key, str)})
        raise _no_split(
            f"no document of {path} has {name!r} in its user_data",
            f"Give --group-by one of: {', '.join(known) or 'nothing'}.",
        )
    if name is not None and n_without:
        _warn(
            f"{n_without} of {len(docs)} units have no {name!r} in their user_data: "
            "each of them is a separate group"
        )
    return keys


def _counted(units: Units, chosen: Ints1d, share: float) -> SplitPart:
    by_type = dict(zip(units.labels, units.mentions[chosen].sum(axis=0).tolist(), strict=True))
    return SplitPart(share, len(chosen), int(units.sizes[chosen].sum()), by_type)


def _check_mentions(
    parts: Mapping[str, SplitPart], labels: list[str], min_mentions: int, strict: bool
) -> None:
    short = [
        f"{label} ({', '.join(f'{name} {part.mentions[label]}' for name, part in parts.items())})"
        for label in labels
        if min(part.mentions[label] for part in parts.values()) < min_mentions
    ]
    problem = f"not every type has {number(min_mentions, 'mention')} in each part: {'; '.join(short)}"
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
