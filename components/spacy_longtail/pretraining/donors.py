"""Donors, which are the source corpora of a pretraining, and the options of a pretraining."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..corpus.descriptions import TYPES, check_declared, has_open_types, read_declared
from ..corpus.folder import PARTS, read_types
from ..corpus.formats.context import Context, Events
from ..corpus.formats.inline import fine_and_coarse
from ..corpus.formats.sources import find_parts
from ..corpus.parts import part_path, stream_sentences
from ..corpus.type_words import type_words
from ..describers.base import words
from ..errors import Errors
from ..sentences import by_punctuation, has_boundaries, plain_text
from ..types import ANNOTATED_TYPES

HELD_OUT = 0.05  # fraction of the sentences that is held out if a donor has no dev part
MAX_HELD_OUT = 500  # number of sentences of a donor that are evaluated
KNOWN_PARTS = (*PARTS, "all")
DEFAULT_PARTS = ("train",)  # `all` for a donor that was not split
SEED = 0  # the same in every run, so that runs hold out the same sentences
MIN_WORDS = 3  # per sentence of a text file
MIXED = "xx"  # code of several languages


class PretrainOptions(NamedTuple):
    """Options of a pretraining."""

    encoder: str = "en_longtail_cnn"  # pipeline to start from, "cnn" for a new one, or a transformer
    steps: int | None = None  # null is 12,000 for a CNN, 6,000 for a transformer
    batch_size: int = 8_192  # maximum number of subwords in a batch, padding included
    parts: tuple[str, ...] = DEFAULT_PARTS  # parts of the donors to train on
    evaluations: int = 10  # number of evaluations on the donors
    seed: int = 0  # random seed of weights, batches and dropout
    gpu_id: int = -1  # -1 for the CPU
    settings: Mapping[str, Any] = {}  # rates such as the learning rate, by dotted name
    layers: int | None = None  # number of layers of a transformer to keep; null keeps all
    teacher: str | None = None  # pretrained transformer pipeline whose predictions are learned
    teacher_cache: Path | None = None  # folder for the teacher's states; null computes them per batch
    share: float | None = None  # fraction of the batches with free-text types; null is 0.6
    workers: int = 0  # number of processes that prepare batches
    new_subwords: int = 0  # number of subwords of the donors' text to add to those of a CNN


def unusable(path: object, problem: str, fix: str, role: str = "a donor") -> ValueError:
    """Return the error for an unusable donor, excluded corpus, encoder or teacher (L495)."""
    return ValueError(Errors.L495.format(path=path, role=role, problem=problem, fix=fix))


class Donor(NamedTuple):
    """Source corpus for pretraining."""

    name: str
    descriptions: dict[str, str]  # of the types that its documents were annotated with
    lang: str
    tokens: str  # words or characters
    train: list[Doc]  # sentences
    dev: list[Doc]
    n_excluded: int  # number of sentences that were excluded
    is_open: bool = False  # whether types are free text, one per mention: "fine; coarse"
    other_descriptions: dict[str, list[str]] = {}  # noqa: RUF012  further descriptions of some types


def read_donors(
    folders: Iterable[Path], exclude: Iterable[Path], parts: Iterable[str], vocab: Vocab
) -> list[Donor]:
    """Read donors, one sentence per document, each with the types that it was annotated with.

    folders (Iterable[Path]): Folders that `convert` wrote, or of text files with free-text types.
    exclude (Iterable[Path]): Corpora whose dev and test sentences are excluded from all donors.
    parts (Iterable[str]): Parts of the donors to train on. If it is `train` alone, a donor that was
        not split is trained on as a whole. Folders of text files have no parts. F1 is measured on
        dev, or on a twentieth of the sentences, at most 500, if there is no dev part or it is
        trained on.
    vocab (Vocab): Vocabulary of the pipeline.
    RETURNS (List[Donor]): The donors, in the order given.
    RAISES (ValueError): If a donor or an excluded corpus cannot be used.
    """
    folders, parts = list(folders), list(dict.fromkeys(parts))
    names = [folder.resolve().name for folder in folders]
    if len({*names}) < len(names):
        raise unusable(
            ", ".join(names),
            problem="two donors have the same name",
            fix="Name each donor once, or rename a folder",
        )
    if not parts or not set(parts) <= set(KNOWN_PARTS):
        raise unusable(
            names[0],
            problem=f"the parts to train on are {', '.join(parts) or 'none'}",
            fix=f"Name some of {', '.join(KNOWN_PARTS)}",
        )
    forbidden = excluded_texts(exclude, vocab)
    donors = [_read(folder, parts, forbidden, vocab) for folder in folders]
    if len({donor.tokens for donor in donors}) > 1:
        shown = ", ".join(f"{donor.name} ({donor.tokens})" for donor in donors)
        raise unusable(shown, "their tokens differ", "Convert all donors with the same --tokens")
    measured = {plain_text(doc.text) for donor in donors for doc in donor.dev}
    for i, donor in enumerate(donors):
        train = [doc for doc in donor.train if plain_text(doc.text) not in measured]
        if not any(doc.ents for doc in train):
            raise unusable(
                donor.name,
                problem="no entity remains beside the excluded and evaluated sentences",
                fix="Omit this donor",
            )
        donors[i] = donor._replace(train=train)
    return donors


def common_language(languages: Iterable[str]) -> str:
    """Return the language code that several languages share: `MIXED` if they differ."""
    first, *others = dict.fromkeys(languages)
    return MIXED if others else first


def excluded_texts(corpora: Iterable[Path], vocab: Vocab) -> set[str]:
    """Return the sentences of the dev and test parts of corpora, without white space.

    corpora (Iterable[Path]): Folders that `convert` wrote.
    vocab (Vocab): Vocabulary of the pipeline.
    RAISES (ValueError): If a corpus has neither part.
    """
    texts: set[str] = set()
    for corpus in corpora:
        paths = [path for name in ("dev", "test") if (path := part_path(corpus, name)).exists()]
        if not paths:
            raise unusable(
                corpus,
                problem="it has neither dev nor test",
                fix="Name a converted corpus, and run `split` if it has no parts",
                role="an excluded corpus",
            )
        texts.update(*(_texts(doc) for path in paths for doc in stream_sentences(path, vocab)))
    return texts


def _texts(doc: Doc) -> set[str]:
    """Return a sentence in comparable form; a document without boundaries also in sentences."""
    texts = {plain_text(doc.text)}
    if not has_boundaries(doc):
        texts.update(plain_text(part.text) for part in by_punctuation([doc])[0].sents)
    return texts


def _read(folder: Path, parts: list[str], forbidden: set[str], vocab: Vocab) -> Donor:
    is_text = not (folder / TYPES).is_file() and any(folder.glob("*.txt"))
    is_open = is_text or has_open_types(folder)
    path, declared = read_declared(folder)
    check_declared(path, declared, is_open)
    types = declared if is_text else read_types(folder, allow_open=True)
    read, dev = (list(_text_files(folder, vocab)), []) if is_text else _sentences(folder, parts, vocab)
    train = [doc for doc in read if forbidden.isdisjoint(_texts(doc))]
    n_excluded = len(read) - len(train)
    others: dict[str, list[str]] = {}
    if is_open:
        levels = (fine_and_coarse(ent.label_) for doc in train for ent in doc.ents)
        dev, descriptions = [], {name: name for names in levels for name in names}
        if "" in descriptions:
            raise unusable(
                folder,
                problem="a mention has an empty type",
                fix="Write each type as `fine type; coarse type`, or as a single type",
            )
    else:
        train, dev = _held_out(train, dev)
        descriptions = _unite_types([*train, *dev], types.labels, types.descriptions)
        others = {label: own for label, own in types.other_descriptions.items() if label in descriptions}
    return Donor(
        name=folder.resolve().name,
        descriptions=descriptions,
        lang=types.lang,
        tokens=types.tokens,
        train=train,
        dev=dev,
        n_excluded=n_excluded,
        is_open=is_open,
        other_descriptions=others,
    )


def _sentences(folder: Path, parts: list[str], vocab: Vocab) -> tuple[list[Doc], list[Doc]]:
    """Return the sentences of the parts to train on, and those of dev if it is not trained on."""
    there = {part: path for part in KNOWN_PARTS if (path := part_path(folder, part)).exists()}
    is_whole = parts == [*DEFAULT_PARTS] and "train" not in there and "all" in there
    wanted = ["all"] if is_whole else parts
    if missing := [part for part in wanted if part not in there]:
        raise unusable(
            folder,
            problem=f"it has no part {', '.join(missing)}"
            + (f", only {', '.join(there)}" if there else ""),
            fix="Name parts that all donors have with --parts, or make them with `split`",
        )
    dev = [] if "dev" not in there or "dev" in wanted else list(stream_sentences(there["dev"], vocab))
    return [doc for part in wanted for doc in stream_sentences(there[part], vocab) if len(doc)], dev


def _text_files(folder: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the sentences of a text corpus with free-text types, such as assets/open_types."""
    context = Context(spacy.blank(vocab.lang, vocab=vocab), Events())
    for part in find_parts(folder, (), "open").parts.values():
        yield from (doc for doc in part.read(context) if len(doc) >= MIN_WORDS)


def _held_out(train: list[Doc], dev: list[Doc]) -> tuple[list[Doc], list[Doc]]:
    """Return sentences to train on and to evaluate: of dev, or of train if dev is empty."""
    seen = {plain_text(doc.text) for doc in dev}
    train = [doc for doc in train if plain_text(doc.text) not in seen]
    rng = np.random.default_rng(SEED)
    if not dev:
        n = min(int(HELD_OUT * len(train)), MAX_HELD_OUT)
        held_out = set(rng.permutation(len(train))[:n].tolist())
        dev = [doc for i, doc in enumerate(train) if i in held_out]
        train = [doc for i, doc in enumerate(train) if i not in held_out]
    return train, [dev[i] for i in sorted(rng.permutation(len(dev))[:MAX_HELD_OUT].tolist())]


def _unite_types(docs: list[Doc], labels: list[str], given: dict[str, str]) -> dict[str, str]:
    """Unite types whose descriptions have the same words, since no describer can tell them apart.

    docs (List[Doc]): The documents; their entities are changed in place.
    labels (List[str]): Declared types.
    given (Dict[str, str]): Descriptions of some types.
    RETURNS (Dict[str, str]): The description of each remaining type.
    """
    labels = sorted({*labels, *(ent.label_ for doc in docs for ent in doc.ents)})
    texts = {label: " ".join(text.split()) for label, text in type_words(labels, given).items()}
    first: dict[tuple[str, ...], str] = {}  # one of device, DEVICE and "device."
    folded = {label: text.casefold() for label, text in texts.items()}
    keys = {label: tuple(words(text)) or (text,) for label, text in folded.items()}
    names = {label: first.setdefault(key, label) for label, key in keys.items()}
    descriptions = {label: texts[label] for label in first.values()}
    for doc in docs:
        known = doc.user_data.get(ANNOTATED_TYPES, labels)  # some types, in a partial annotation
        unknown = {names[label] for label in labels if label not in known}
        doc.user_data[ANNOTATED_TYPES] = [name for name in descriptions if name not in unknown]
        if any(names[ent.label_] != ent.label_ for ent in doc.ents):
            ents = [Span(doc, ent.start, ent.end, label=names[ent.label_]) for ent in doc.ents]
            doc.set_ents(ents, default="unmodified")
    return descriptions
