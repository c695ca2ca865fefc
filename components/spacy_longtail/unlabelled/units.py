"""A sentence of the pool: what it is known by, and as it may be proposed for labelling."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.api import to_numpy
from thinc.types import Floats1d

from ..corpus.examples import trim_whitespace
from ..corpus.likeness import digest
from ..corpus.sentences import plain_text, sentence_lengths

N_HASHED = 128  # columns of the vectors of words, where the pipeline has none
PLACE = "mine_place"  # in user_data: where a text stands


@dataclass
class PoolSentence:
    """The tokens of a sentence, without its document."""

    words: list[str]
    spaces: list[bool]

    @staticmethod
    def tokens(doc: Doc, start: int, end: int) -> tuple[list[str], list[bool]]:
        """Words and spaces of some tokens of a document."""
        tokens = list(doc[start:end])
        return [token.text for token in tokens], [bool(token.whitespace_) for token in tokens]

    @property
    def text(self) -> str:
        return "".join(w + " " * s for w, s in zip(self.words, self.spaces, strict=True)).rstrip(" ")


@dataclass
class Unit(PoolSentence):
    """A sentence that may be proposed. Offsets of entities are tokens."""

    ents: list[tuple[int, int, str]]  # what the pipeline reads in it
    expected: list[float]  # mentions of each rare type
    vector: list[float]
    document: str  # its text in the pool
    about: dict[str, str | int | float] = field(default_factory=dict)  # what the pool says of it

    @classmethod
    def of(cls, doc: Doc, start: int, end: int, expected: Floats1d, vector: Floats1d) -> "Unit":
        """A sentence of a document. start, end (int): Its tokens."""
        known = doc.user_data.items()  # what the pool says is plain, what components write is not
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
        """The sentence as a document, with the entities that were read."""
        made = Doc(vocab, words=self.words, spaces=[*self.spaces[:-1], False])
        made.set_ents([Span(made, a, b, label=label) for a, b, label in self.ents], default="outside")
        made.user_data.update(self.about)
        return made


def lot(text: str, seed: int) -> float:
    """A number in [0, 1) to draw by. It is the same for texts that are the same."""
    return digest(f"{seed}\n{plain_text(text)}") / 2**64


def sentences_of(doc: Doc) -> list[tuple[int, int]]:
    """First token and one past the last of each sentence as the pipeline reads them.

    White space at the ends is left out: nothing is left of some.
    """
    ends = np.cumsum(sentence_lengths(doc))
    first, last = trim_whitespace(ends - np.diff(ends, prepend=0), ends, doc.to_array("IS_SPACE"))
    return list(zip(first.tolist(), last.tolist(), strict=True))


def sentence_vectors(doc: Doc, bounds: Iterable[tuple[int, int]]) -> list[Floats1d]:
    """A vector of each sentence: the mean of its tokens' in doc.tensor, else of hashed words."""
    rows = to_numpy(doc.tensor)
    if rows.ndim == 2 and len(rows) == len(doc):
        return [rows[start : max(end, start + 1)].mean(axis=0) for start, end in bounds]
    mixed = doc.to_array("LOWER").astype("uint64") * np.uint64(0x9E3779B97F4A7C15)
    column = ((mixed >> np.uint64(40)) % np.uint64(N_HASHED)).astype("int64")
    sign = np.where((mixed >> np.uint64(20)) & np.uint64(1), 1.0, -1.0)
    return [np.bincount(column[a:b], weights=sign[a:b], minlength=N_HASHED) for a, b in bounds]
