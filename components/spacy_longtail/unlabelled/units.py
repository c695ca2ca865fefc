"""Sentences of a pool as they are stored and proposed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.api import to_numpy
from thinc.types import Floats1d

from ..corpus.examples import trim_whitespace
from ..corpus.likeness import digest
from ..sentences import plain_text, sentence_lengths

N_HASHED = 128  # width of hashed word vectors, for pipelines without vectors
PLACE = "mine_place"  # key of user_data: position of a text in the pool


@dataclass
class PoolSentence:
    """Tokens of a sentence, independent of its document."""

    words: list[str]
    spaces: list[bool]

    @staticmethod
    def tokens(doc: Doc, start: int, end: int) -> tuple[list[str], list[bool]]:
        """Return the words and spaces of some tokens of a document."""
        tokens = list(doc[start:end])
        return [token.text for token in tokens], [bool(token.whitespace_) for token in tokens]

    @property
    def text(self) -> str:
        """Text of the sentence, without white space at its end."""
        return "".join(w + " " * s for w, s in zip(self.words, self.spaces, strict=True)).rstrip(" ")


@dataclass
class Unit(PoolSentence):
    """Candidate: a sentence that may be proposed. Entities are given by token offsets."""

    ents: list[tuple[int, int, str]]  # predicted entities
    expected: list[float]  # expected number of mentions of each rare type
    vector: list[float]
    document: str  # position of its text in the pool
    about: dict[str, str | int | float] = field(default_factory=dict)  # meta data of the pool

    @classmethod
    def of(cls, doc: Doc, start: int, end: int, expected: Floats1d, vector: Floats1d) -> "Unit":
        """Return a sentence of a document.

        doc (Doc): The document with predictions.
        start (int): First token.
        end (int): One past the last token.
        expected (Floats1d): Expected mentions, shape (n_types,).
        vector (Floats1d): Vector of the sentence.
        """
        known = doc.user_data.items()  # meta data of the pool has plain keys and values
        about = {str(k): v for k, v in known if isinstance(k, str) and isinstance(v, str | int | float)}
        ents = [ent for ent in doc.ents if start <= ent.start and ent.end <= end]
        return cls(
            *cls.tokens(doc, start, end),
            ents=[(ent.start - start, ent.end - start, ent.label_) for ent in ents],
            expected=[round(float(value), 4) for value in expected],
            vector=[round(float(value), 4) for value in vector],
            document=str(about.get(PLACE, "")),
            about=about,
        )

    def doc(self, vocab: Vocab) -> Doc:
        """Return the sentence as a document with the predicted entities."""
        made = Doc(vocab, words=self.words, spaces=[*self.spaces[:-1], False])
        made.set_ents([Span(made, a, b, label=label) for a, b, label in self.ents], default="outside")
        made.user_data.update(self.about)
        return made


def pseudo_random(text: str, seed: int) -> float:
    """Return a pseudo-random number in [0, 1) to sample by, the same for equal texts."""
    return digest(f"{seed}\n{plain_text(text)}") / 2**64


def sentences_of(doc: Doc) -> list[tuple[int, int]]:
    """Return the first token and one past the last of each sentence of a document.

    White space at both ends is excluded, so that some sentences may be empty.
    """
    ends = np.cumsum(sentence_lengths(doc))
    first, last = trim_whitespace(ends - np.diff(ends, prepend=0), ends, doc.to_array("IS_SPACE"))
    return list(zip(first.tolist(), last.tolist(), strict=True))


def sentence_vectors(doc: Doc, bounds: Iterable[tuple[int, int]]) -> list[Floats1d]:
    """Return a vector of each sentence: the mean of its tokens in doc.tensor or of hashed words.

    doc (Doc): The document.
    bounds (Iterable[Tuple[int, int]]): First token and one past the last of each sentence.
    """
    rows = to_numpy(doc.tensor)
    if rows.ndim == 2 and len(rows) == len(doc):
        return [rows[start : max(end, start + 1)].mean(axis=0) for start, end in bounds]
    mixed = doc.to_array("LOWER").astype("uint64") * np.uint64(0x9E3779B97F4A7C15)
    column = ((mixed >> np.uint64(40)) % np.uint64(N_HASHED)).astype("int64")
    sign = np.where((mixed >> np.uint64(20)) & np.uint64(1), 1.0, -1.0)
    return [np.bincount(column[a:b], weights=sign[a:b], minlength=N_HASHED) for a, b in bounds]
