"""Donors as arrays for a bi-encoder."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc
from tokenizers import Tokenizer

from ...corpus.formats.open_types import fine_and_coarse
from ...describers.label_encoder import MOST
from ...layers.subwords import SubwordTable
from ...models.transformer import Words
from ...types import ANNOTATED_TYPES
from ..donors import Donor as Corpus
from .data import MISSING, Donor

NOTE = re.compile(r"\s*\(.*\)\s*$")  # behind a type's name
MOST_PIECES = 128  # of a sentence


class Cutter(Protocol):
    """What cuts words into pieces, as `Pieces` does."""

    @property
    def ends(self) -> tuple[list[int], list[int]]:
        """What stands before and behind a sentence."""

    def of(self, docs: Iterable[Doc]) -> list[Words]:
        """The pieces of each document's words."""


class Subwords:
    """The subwords of a table as pieces of words. table (SubwordTable): Whose rows the pieces are."""

    ends: tuple[list[int], list[int]] = ([], [])

    def __init__(self, table: SubwordTable) -> None:
        self.table = table
        self.known: dict[str, list[int]] = {}

    def of(self, docs: Iterable[Doc]) -> list[Words]:
        """The pieces of each document's words. A word without a subword counts as one."""
        found = []
        for doc in docs:
            words = [token.text for token in doc]
            new = [word for word in dict.fromkeys(words) if word not in self.known]
            self.known.update(zip(new, self.table.cut(new), strict=True))
            rows = [self.known[word] or [0] for word in words]
            ids = np.array([row for own in rows for row in own], dtype="int64")
            found.append(Words(ids, np.array([len(own) for own in rows], dtype="int64")))
        return found


class Texts:
    """Label texts, each once."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The place of a text. text (str): A description."""
        return self.place.setdefault(" ".join(text.split()), len(self.place))

    def pieces(self, tokenizer: Tokenizer) -> list[list[int]]:
        """All texts as pieces of a transformer, with special ones."""
        found = tokenizer.encode_batch(list(self.place))
        return [encoding.ids[:MOST] for encoding in found]


def pack(corpus: Corpus, pieces: Cutter, texts: Texts) -> Donor:
    """The training sentences of a donor as arrays.

    A type goes by its description, and by its name alone where that is clear. Of open types, the fine
    and the coarse ones are two annotations of one corpus.
    """
    if corpus.is_open:
        forms = [[texts.add(text)] for text in corpus.descriptions]
    else:
        names = [NOTE.sub("", text) for text in corpus.descriptions.values()]
        known = Counter(name.casefold() for name in names)
        forms = []
        for text, name in zip(corpus.descriptions.values(), names, strict=True):
            is_clear = bool(name) and known[name.casefold()] == 1
            forms.append(list(dict.fromkeys(map(texts.add, [text, name] if is_clear else [text]))))
    donor = Donor(corpus.name, _arrays(corpus, corpus.train, pieces), forms, len(corpus.train))
    known = [doc.user_data.get(ANNOTATED_TYPES, corpus.descriptions) for doc in corpus.train]
    if not corpus.is_open and any(len(own) < len(corpus.descriptions) for own in known):
        donor.unknown = [~np.isin(list(corpus.descriptions), list(own)) for own in known]
    return donor


def pack_held_out(corpus: Corpus, pieces: Cutter, donor: Donor) -> Donor:
    """The sentences that a donor is scored on. donor (Donor): Its training sentences."""
    return Donor(corpus.name, _arrays(corpus, corpus.dev, pieces), donor.texts, 0.0)


def _tags(doc: Doc, types: Iterable[str], places: Mapping[str, int]) -> np.ndarray:
    """0 for O, 1 + 2 t and 2 + 2 t for B and I of type t, MISSING, (n_tokens,). types: Of entities."""
    tags = np.where(doc.to_array(ENT_IOB) == 0, MISSING, 0)
    for ent, own in zip(doc.ents, types, strict=True):
        tags[ent.start : ent.end] = 2 + 2 * places[own]
        tags[ent.start] -= 1
    return tags


def _arrays(corpus: Corpus, docs: Sequence[Doc], pieces: Cutter) -> dict[str, np.ndarray]:
    places = {label: i for i, label in enumerate(corpus.descriptions)}
    before, behind = pieces.ends
    room = MOST_PIECES - len(before) - len(behind)
    ids, first, orths = [], [], []
    levels: list[list[np.ndarray]] = [[], []] if corpus.is_open else [[]]
    for doc, words in zip(docs, pieces.of(docs), strict=True):
        ends = np.cumsum(words.lengths)
        n_words = int(np.searchsorted(ends, room, side="right"))
        ids.append(np.concatenate([before, words.ids[: ends[n_words - 1] if n_words else 0], behind]))
        first.append((ends - words.lengths)[:n_words] + len(before))
        orths.append(doc.to_array(ORTH)[:n_words].astype("int64"))  # torch has no unsigned numbers
        for level, own in enumerate(levels):
            labels = [e.label_ for e in doc.ents]
            types = [fine_and_coarse(t)[level] for t in labels] if corpus.is_open else labels
            own.append(_tags(doc, types, places)[:n_words])
    arrays = {
        "ids": np.concatenate(ids),
        "sl": np.array([len(own) for own in ids]),
        "first": np.concatenate(first),
        "wl": np.array([len(own) for own in first]),
        "words": np.concatenate(orths),
        "tags": np.concatenate(levels[0]),
    }
    if corpus.is_open:
        arrays["coarse"] = np.concatenate(levels[1])
    return arrays
