"""spaCy's own files: documents in, checked; documents out, counted as they are written."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import srsly
from spacy.attrs import DEP, ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE, LEMMA, MORPH, NORM, TAG
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ...errors import Errors
from ..cutting import sentence_docs
from ..examples import trim_whitespace
from ..labels import check_label
from .context import Context, Events, Place

STRINGS = [NORM, TAG, LEMMA, DEP, ENT_TYPE, ENT_KB_ID, ENT_ID, MORPH]  # kept as hashes

Read = TypeVar("Read")


@dataclass
class Tally:
    """What was written. `a += b` adds a part."""

    documents: int = 0
    tokens: int = 0
    mentions: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: "Tally") -> "Tally":
        self.documents += other.documents
        self.tokens += other.tokens
        self.mentions += other.mentions
        return self


def write_docs(path: Path, docs: Iterable[Doc]) -> Tally:
    """Write documents to a .spacy file.

    docs (Iterable[Doc]): Streamed; what is held is their arrays.
    """
    store = DocBin()
    strings = None
    for doc in docs:
        store.add(doc)
        # not by store_user_data=True: to pack an empty dictionary takes spaCy longer than all the rest
        store.user_data.append(srsly.msgpack_dumps(doc.user_data) if doc.user_data else None)
        strings = doc.vocab.strings
    store.store_user_data = True
    try:
        store.to_disk(path)
    except ValueError as error:  # of spaCy, where msgpack cannot hold it
        raise ValueError(Errors.L435.format(path=path.name)) from error
    if strings is None:
        return Tally()
    table = np.concatenate(store.tokens)
    begins = table[:, store.attrs.index(ENT_IOB)] == 3
    types, numbers = np.unique(table[begins, store.attrs.index(ENT_TYPE)], return_counts=True)
    mentions = {strings[t]: int(n) for t, n in zip(types, numbers, strict=True) if t}
    for label in mentions:
        check_label(label, f" in {path.name}")
    return Tally(len(store), len(table), Counter(mentions))


def stream_bins(path: Path, read: Callable[[DocBin], Iterator[Read]]) -> Iterator[Read]:
    """What `read` makes of a .spacy file, or of every .spacy file below a folder in order of name.

    One file at a time is in memory.
    """
    paths = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
    if not path.exists() or not paths:
        raise ValueError(Errors.L402.format(path=path, fix="Name a .spacy file, or a folder of them."))
    is_empty = True
    for part in paths:
        try:
            for found in read(DocBin().from_disk(part)):
                is_empty = False
                yield found
        except Exception as error:  # msgpack, zlib and spaCy raise their own kinds
            raise ValueError(Errors.L404.format(path=part, problem=error)) from error
    if is_empty:
        raise ValueError(Errors.L403.format(path=path, fix="Convert a corpus that has documents."))


def check_docs(path: Path) -> None:
    """Refuse what cannot be read, one file at a time, no document built."""
    deque(stream_bins(path, lambda docs: iter(docs.tokens)), maxlen=0)


def count_tokens(path: Path) -> int:
    """How many tokens a .spacy file or folder has, no document built."""
    return sum(len(tokens) for tokens in stream_bins(path, lambda docs: iter(docs.tokens)))


def stream_docs(path: Path, nlp: Language) -> Iterator[Doc]:
    """The documents of a .spacy file, or of every .spacy file below a folder in order of name.

    One file at a time is in memory.
    """
    yield from stream_bins(path, lambda docs: docs.get_docs(nlp.vocab))


def stream_sentences(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """The sentences of a .spacy file as documents."""
    for doc in stream_bins(path, lambda docs: docs.get_docs(vocab)):
        yield from sentence_docs(doc)


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """The documents of a .spacy file with legal entities; what else they hold is kept.

    context (Context): Vocabulary, and events, which count what was fixed. The place of an event is the
        document's number in the file.
    """
    for i, doc in enumerate(stream_docs(path, context.nlp), 1):
        place = Place(path, i)
        used = np.unique(doc.to_array(STRINGS))
        if not all(name in doc.vocab.strings for name in used.tolist()):
            problem = f"document {i} has annotation that the file does not name"
            raise ValueError(Errors.L404.format(path=path, problem=problem))
        if not len(doc):
            context.events.add("empty", "documents", place)
            continue
        _fix(doc, place, context.events)
        if not doc.has_annotation("ENT_IOB"):
            context.events.add("unannotated", "documents", place)
        yield doc


def _fix(doc: Doc, place: Place, events: Events) -> None:
    """Begin every entity with B, give those without a type no annotation, trim white space."""
    iob, types, space = doc.to_array(["ENT_IOB", "ENT_TYPE", "IS_SPACE"]).T
    inside = (iob == 3) | (iob == 1)
    untyped = inside & (types == 0)
    follows = np.concatenate([[False], inside[:-1] & (types[1:] == types[:-1])])
    orphan = (iob == 1) & (types != 0) & ~follows
    if not (untyped | orphan | (inside & (space == 1))).any():
        return
    for name, found in (("without a type", untyped & (iob == 3)), ("begun with I", orphan)):
        for i in np.flatnonzero(found).tolist():
            events.add("mended", name, place, f"{name}: {doc[i].text!r}")
    iob, types = np.where(untyped, 0, np.where(orphan, 3, iob)), types.copy()
    doc.from_array([ENT_IOB, ENT_TYPE], np.stack([iob, types], axis=1).astype("uint64"))
    bounds = np.array([(ent.start, ent.end) for ent in doc.ents], dtype="int64").reshape(-1, 2)
    trimmed = trim_whitespace(bounds[:, 0], bounds[:, 1], space)
    for ent, first, last in zip(doc.ents, *trimmed, strict=True):
        if (first, last) != (ent.start, ent.end):
            events.add("trimmed", ent.label_, place, f"{ent.label_} {ent.text!r}")
        for outside in (slice(ent.start, first), slice(last, ent.end)):
            iob[outside], types[outside] = 2, 0
        iob[first:last][:1] = 3
    doc.from_array([ENT_IOB, ENT_TYPE], np.stack([iob, types], axis=1).astype("uint64"))
