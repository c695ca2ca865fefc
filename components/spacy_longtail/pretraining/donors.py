"""Donor corpora: their sentences, without those of the target's dev and test parts."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.descriptions import TYPES, check_open, read_declared
from ..corpus.folder import PARTS, part_path, read_types
from ..corpus.formats.docbin import stream_sentences
from ..corpus.formats.open_types import fine_and_coarse
from ..corpus.sentences import by_punctuation, has_boundaries
from ..corpus.type_words import fits_config, in_words, problem_in_config
from ..corpus.units import plain_text
from ..errors import Errors
from ..output.amounts import number
from ..types import ANNOTATED_TYPES
from .open_types import is_open, read_open_types

HELD_OUT = 0.05  # of the sentences of a donor without a dev part
WORD = re.compile(r"\w+")
MOST_HELD_OUT = 500  # sentences that its F1 is measured on
DONOR = "a donor"
KNOWN_PARTS = (*PARTS, "all")
SEED = 0  # of what is held out: the same in every run


class Donor(NamedTuple):
    """A corpus to learn from."""

    name: str
    descriptions: dict[str, str]  # of the types that its documents were annotated with
    lang: str
    tokens: str  # words or characters
    train: list[Doc]  # sentences
    dev: list[Doc]
    n_excluded: int  # sentences left out, since they occur in a corpus to exclude
    merged: Sequence[str] = ()  # tags with one description, which are one type: "device, DEVICE"
    is_open: bool = False  # each mention has a type of its own, "fine; coarse"


def read_donors(
    folders: Iterable[Path], exclude: Iterable[Path], parts: Iterable[str], vocab: Vocab
) -> list[Donor]:
    """Read donors, one sentence per document, each with the types that it was annotated with.

    folders (Iterable[Path]): Folders that `convert` wrote, or of text files with open types.
    exclude (Iterable[Path]): Corpora whose dev and test sentences no donor may have.
    parts (Iterable[str]): Parts of the donors to train on; F1 is measured on dev, or on a twentieth of
        the sentences where there is none, or where dev is trained on.
    vocab (Vocab): Of the pipeline.
    RETURNS (List[Donor]): In the order given.
    RAISES (ValueError): L401 to L404, L430; L495 for donors of different languages, without an entity,
        of one name, with a description that no config can hold.
    """
    folders, parts = list(folders), list(dict.fromkeys(parts))
    names = [folder.resolve().name for folder in folders]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise _unusable(", ".join(names), "one is given twice", "Name each once")
    if len(set(names)) < len(names):
        raise _unusable(", ".join(names), "two have one name", "Rename a folder")
    for part in parts or [""]:
        if part not in KNOWN_PARTS:
            fix = f"Name some of {', '.join(KNOWN_PARTS)}"
            raise _unusable(", ".join(names), f"there is no part {part!r} to train on", fix)
    forbidden = excluded_texts(exclude, vocab)
    known: dict[str, str] = {}  # descriptions by type
    donors = []
    for folder, name in zip(folders, names, strict=True):
        if is_open(folder):
            donors.append(_read_open(folder, name, parts, forbidden, vocab))
        else:
            donors.append(_read(folder, name, parts, forbidden, known, vocab))
            known |= donors[-1].descriptions
    langs = {donor.lang for donor in donors}
    if len(langs) > 1:
        found = ", ".join(f"{donor.name} {donor.lang}" for donor in donors)
        raise _unusable(found, "they are of different languages", "Take donors of one language")
    if len({donor.tokens for donor in donors}) > 1:
        found = ", ".join(f"{donor.name} {donor.tokens}" for donor in donors)
        raise _unusable(found, "they have different tokens", "Convert all with the same --tokens")
    measured = {plain_text(doc.text) for donor in donors for doc in donor.dev}
    return [_without(donor, measured) for donor in donors]


def _without(donor: Donor, measured: Set[str]) -> Donor:
    """A donor that trains on no sentence that F1 is measured on. RAISES (ValueError): L495."""
    train = [doc for doc in donor.train if plain_text(doc.text) not in measured]
    if any(doc.ents for doc in train):
        return donor._replace(train=train)
    problem = "it has no entity without the sentences that are excluded or that F1 is measured on"
    raise _unusable(donor.name, problem, "Leave it out")


def _unusable(path: object, problem: str, fix: str, role: str = DONOR) -> ValueError:
    return ValueError(Errors.L495.format(path=path, role=role, problem=problem, fix=fix))


def excluded_texts(corpora: Iterable[Path], vocab: Vocab) -> set[str]:
    """The sentences of the dev and test parts of corpora, as they are compared: without white space.

    RAISES (ValueError): L402, L403, L404; L495 for a corpus with neither part.
    """
    found: set[str] = set()
    for corpus in corpora:
        paths = [path for name in ("dev", "test") if (path := part_path(corpus, name)).exists()]
        if not paths:
            problem = "it has no dev and no test"
            fix = "Name a converted corpus; `split` makes parts of a whole one"
            raise _unusable(corpus, problem, fix, role="a corpus to exclude")
        for path in paths:
            for doc in stream_sentences(path, vocab):
                found |= _texts(doc)
    return found


def _texts(doc: Doc) -> set[str]:
    """What a sentence is known by; a text without boundaries by its parts, too, cut at punctuation."""
    own = {plain_text(doc.text)}
    if not has_boundaries(doc):
        own.update(plain_text(part.text) for part in by_punctuation([doc])[0].sents)
    return own


def _read(
    folder: Path,
    name: str,
    parts: list[str],
    forbidden: set[str],
    known: Mapping[str, str],
    vocab: Vocab,
) -> Donor:
    types = read_types(folder)
    read, dev = _sentences(folder, parts, vocab)
    allowed = [doc for doc in read if forbidden.isdisjoint(_texts(doc))]
    seen = {plain_text(doc.text) for doc in dev}
    train = [doc for doc in allowed if plain_text(doc.text) not in seen]
    rng = np.random.default_rng(SEED)
    if not dev:
        held_out = set(rng.permutation(len(train))[: int(HELD_OUT * len(train))].tolist())
        dev = [doc for i, doc in enumerate(train) if i in held_out]
        train = [doc for i, doc in enumerate(train) if i not in held_out]
    dev = [dev[i] for i in sorted(rng.permutation(len(dev))[:MOST_HELD_OUT].tolist())]
    labels = sorted({*types.labels, *(ent.label_ for doc in train for ent in doc.ents)})
    texts = {
        label: " ".join(text.split()) for label, text in in_words(labels, types.descriptions).items()
    }
    names = _names(texts, known, name)
    by_name = {own: [label for label in texts if names[label] == own] for own in names.values()}
    merged = [", ".join(tags) for tags in by_name.values() if len(tags) > 1]
    descriptions = {names[label]: text for label, text in texts.items()}
    if problem := problem_in_config(descriptions):
        raise _unusable(folder, f"its descriptions have {problem}", "Correct its types.json")
    for doc in (*train, *dev):
        own = doc.user_data.get(ANNOTATED_TYPES, labels)  # of a partial annotation
        unknown = {names[label] for label in labels if label not in own}
        found = [name for name in descriptions if name not in unknown]
        _renamed(doc, names).user_data[ANNOTATED_TYPES] = found
    n_excluded = len(read) - len(allowed)
    return Donor(name, descriptions, types.lang, types.tokens, train, dev, n_excluded, merged)


def _sentences(folder: Path, parts: list[str], vocab: Vocab) -> tuple[list[Doc], list[Doc]]:
    """Those of the parts to train on, and those of dev where it is none of them."""
    there = {part: path for part in KNOWN_PARTS if (path := part_path(folder, part)).exists()}
    wanted = [part for part in parts if part in there] or [part for part in ("all",) if part in there]
    if not wanted:
        raise _unusable(folder, f"it has none of the parts {', '.join(parts)}", "Convert it again")
    dev = [] if "dev" not in there or "dev" in wanted else list(stream_sentences(there["dev"], vocab))
    return [doc for part in wanted for doc in stream_sentences(there[part], vocab) if len(doc)], dev


def _read_open(folder: Path, name: str, parts: list[str], forbidden: set[str], vocab: Vocab) -> Donor:
    path, declared = read_declared(folder)
    check_open(path, declared)
    is_text = not (folder / TYPES).is_file()
    read = [*read_open_types(folder, vocab)] if is_text else _sentences(folder, parts, vocab)[0]
    train = [doc for doc in read if forbidden.isdisjoint(_texts(doc))]
    types = {own: own for doc in train for ent in doc.ents for own in fine_and_coarse(ent.label_)}
    if "" in types:
        fix = "Write each type as `fine type; coarse type`, or as one type alone"
        raise _unusable(folder, "a mention has an empty type", fix)
    n_excluded = len(read) - len(train)
    lang, tokens = declared.lang, declared.tokens
    return Donor(name, types, lang, tokens, train, [], n_excluded, is_open=True)


def _names(texts: Mapping[str, str], known: Mapping[str, str], donor: str) -> dict[str, str]:
    """What a donor's types are called: of one description one name, of two descriptions two names.

    Tags of one donor that mean the same, such as device and DEVICE, become one type, too.
    """
    by_text = {text.casefold(): label for label, text in known.items()}
    found: dict[str, str] = {}
    for label, text in texts.items():
        if text.casefold() in by_text:
            found[label] = by_text[text.casefold()]
            continue
        own = label if fits_config(label) else " ".join(WORD.findall(label)) or "type"
        is_taken = known.get(own, text).casefold() != text.casefold() or (own != label and own in texts)
        called = f"{own} ({donor})" if is_taken else own
        names = (called, *(f"{called} {n}" for n in range(2, len(texts) + 2)))  # a:b and a=b are two
        by_text[text.casefold()] = found[label] = next(n for n in names if n not in found.values())
    return found


def _renamed(doc: Doc, names: Mapping[str, str]) -> Doc:
    """A document whose entities have other names for their types."""
    changed = {doc.vocab.strings.add(a): doc.vocab.strings.add(b) for a, b in names.items() if a != b}
    found = doc.to_array(ENT_TYPE)
    if not np.isin(found, list(changed)).any():
        return doc
    types = found.copy()
    for old, new in changed.items():
        types[found == old] = new  # one type can take the name that another loses
    iob = doc.to_array(ENT_IOB)
    return doc.from_array([ENT_IOB, ENT_TYPE], np.stack([iob, types], axis=1).astype("uint64"))


def said(donor: Donor, is_excluding: bool) -> str:
    """A donor in a line. is_excluding (bool): Whether there are corpora to exclude."""
    left_out = f", {donor.n_excluded:,} left out" if is_excluding else ""
    sentences, types = number(len(donor.train), "sentence"), number(len(donor.descriptions), "type")
    merged = "".join(f"; {tags} have one description and are one type" for tags in donor.merged)
    return f"{donor.name}: {sentences}{left_out}, {types}{merged}"
