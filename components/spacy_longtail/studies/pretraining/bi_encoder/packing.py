"""Corpora as arrays for the bi-encoder: donors that `convert` wrote, and open types in plain text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from tokenizers import Tokenizer

from ....corpus.formats.context import Context, Events, Settings
from ....corpus.formats.open_types import fine_and_coarse
from ....corpus.formats.sources import FORMATS, find_parts
from ....models.transformer import Pieces
from ..donors import Donor as Corpus
from .data import Donor

NOTE = re.compile(r"\s*\(.*\)\s*$")  # behind a type's name
MOST_PIECES = 128  # of a sentence
MOST_LABEL_PIECES = 40


class OpenDoc(NamedTuple):
    """A sentence whose mentions have types of their own."""

    doc: Doc
    fine: list[Span]
    coarse: list[Span]


def read_open_types(folder: Path, vocab: Vocab) -> Iterator[OpenDoc]:
    """The sentences of a corpus of open types that is not converted, such as assets/open_types.

    folder (Path): In the format "open" of `convert`. vocab (Vocab): Of the documents.
    RAISES (ValueError): L401, L402, L424, L426, L550.
    """
    settings = Settings(format="open", misaligned=FORMATS["open"].misaligned)
    context = Context(spacy.blank(vocab.lang, vocab=vocab), settings, Events())
    for part in find_parts(folder, (), settings).values():
        yield from map(open_doc, part.read(context))


def open_doc(doc: Doc) -> OpenDoc:
    """The two levels of a document of open types. doc (Doc): Its types are `fine; coarse`, or `fine`."""
    levels = [(ent, *fine_and_coarse(ent.label_)) for ent in doc.ents]
    fine, coarse = ([Span(doc, e.start, e.end, label=own[i]) for e, *own in levels] for i in (0, 1))
    return OpenDoc(doc, fine, coarse)


class Texts:
    """Label texts, each once, as pieces."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.place: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The place of a text. text (str): A description."""
        return self.place.setdefault(" ".join(text.split()), len(self.place))

    @property
    def pieces(self) -> list[list[int]]:
        """All texts as pieces, with special ones."""
        found = self.tokenizer.encode_batch(list(self.place))
        return [encoding.ids[:MOST_LABEL_PIECES] for encoding in found]


def pack_donor(corpus: Corpus, pieces: Pieces, texts: Texts, weight: float) -> Donor:
    """A donor as arrays. A type goes by its description, and by its name alone where that is clear.

    corpus (Corpus): A donor. weight (float): Donors are drawn in proportion to it.
    """
    names = [NOTE.sub("", text) for text in corpus.descriptions.values()]
    known = [name.casefold() for name in names]
    forms = []
    for text, name in zip(corpus.descriptions.values(), names, strict=True):
        is_clear = bool(name) and known.count(name.casefold()) == 1
        forms.append(sorted({texts.add(text), *([texts.add(name)] if is_clear else [])}))
    labels = {label: i for i, label in enumerate(corpus.descriptions)}
    tags = [_tags(doc, doc.ents, labels) for doc in corpus.train]
    return Donor(corpus.name, _arrays(corpus.train, [tags], pieces), forms, weight)


def pack_open(name: str, docs: Sequence[OpenDoc], pieces: Pieces, texts: Texts, weight: float) -> Donor:
    """A corpus of open types as arrays: fine and coarse types are two annotations of one corpus."""
    labels: dict[str, int] = {}
    for found in docs:
        for span in (*found.fine, *found.coarse):
            labels.setdefault(span.label_, len(labels))
    levels = [
        [_tags(found.doc, spans, labels) for found, spans in zip(docs, own, strict=True)]
        for own in ([d.fine for d in docs], [d.coarse for d in docs])
    ]
    arrays = _arrays([found.doc for found in docs], levels, pieces)
    return Donor(name, arrays, [[texts.add(label)] for label in labels], weight)


def _tags(doc: Doc, spans: Iterable[Span], labels: dict[str, int]) -> np.ndarray:
    """0 for O, 1 + 2 t and 2 + 2 t for B and I of type t, (n_tokens,)."""
    tags = np.zeros(len(doc), dtype="int64")
    for span in spans:
        tags[span.start : span.end] = 2 + 2 * labels[span.label_]
        tags[span.start] -= 1
    return tags


def _arrays(
    docs: Sequence[Doc], levels: list[list[np.ndarray]], pieces: Pieces
) -> dict[str, np.ndarray]:
    before, behind = pieces.ends
    room = MOST_PIECES - len(before) - len(behind)
    ids, first = [], []
    cut: list[list[np.ndarray]] = [[] for _ in levels]
    for i, words in enumerate(pieces.of(docs)):
        ends = np.cumsum(words.lengths)
        n_words = int(np.searchsorted(ends, room, side="right"))
        ids.append(np.concatenate([before, words.ids[: ends[n_words - 1] if n_words else 0], behind]))
        first.append((ends - words.lengths)[:n_words] + len(before))
        for own, tags in zip(cut, levels, strict=True):
            own.append(tags[i][:n_words])
    arrays = {
        "ids": np.concatenate(ids),
        "sl": np.array([len(own) for own in ids]),
        "first": np.concatenate(first),
        "wl": np.array([len(own) for own in first]),
        "tags": np.concatenate(cut[0]),
    }
    if len(cut) > 1:
        arrays["coarse"] = np.concatenate(cut[1])
    return arrays
