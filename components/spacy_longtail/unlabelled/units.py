"""Sentences of a pool as they are stored and proposed."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, LOWER
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.api import to_numpy
from thinc.types import Floats1d

from ..corpus.cutting import words_and_spaces
from ..corpus.examples import trim_whitespace
from ..corpus.likeness import digest
from ..sentences import plain_text, sentence_lengths

N_HASHED = 128  # width of hashed word vectors, for pipelines without vectors
PLACE = "mine_place"  # key of user_data: position of a text in the pool


@dataclass
class PassCounts:
    """Counts of a pass over a pool."""

    texts: int = 0
    sentences: int = 0
    known: int = 0  # excluded sentences


@dataclass
class PoolSentence:
    """Tokens of a sentence, independent of its document."""

    words: list[str]
    spaces: list[bool]

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
    def of(cls, sentence: Span, expected: Floats1d) -> "Unit":
        """Return a candidate.

        sentence (Span): Sentence of a document with predictions.
        expected (Floats1d): Expected mentions, shape (n_types,).
        """
        known = sentence.doc.user_data.items()  # meta data of the pool has plain keys and values
        about = {str(k): v for k, v in known if isinstance(k, str) and isinstance(v, str | int | float)}
        return cls(
            *words_and_spaces(sentence),
            ents=entities_in(sentence),
            expected=[round(float(value), 4) for value in expected],
            vector=[round(float(value), 4) for value in sentence_vector(sentence)],
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


def entities_in(sentence: Span) -> list[tuple[int, int, str]]:
    """Return the entities that lie within a sentence: first token, end and type.

    Tokens are counted from the start of the sentence. `Span.ents` gives the same entities, but goes
    through those of the whole document each time.
    """
    doc, tags = sentence.doc, _attributes(sentence, [ENT_IOB, ENT_TYPE])
    inside = np.append(tags[:, 0] == 1, sentence.end < len(doc) and doc[sentence.end].ent_iob == 1)
    begins = np.flatnonzero((tags[:, 0] == 3) & (tags[:, 1] != 0))  # a blocked token has no type
    others = np.append(np.flatnonzero(~inside), len(inside))
    ends = others[np.searchsorted(others, begins, side="right")]
    found = zip(begins.tolist(), ends.tolist(), tags[begins, 1].tolist(), strict=True)
    return [(a, b, doc.vocab.strings[label]) for a, b, label in found if b <= len(sentence)]


def sentence_vector(sentence: Span) -> Floats1d:
    """Return a vector of a sentence: the mean of its tokens in doc.tensor or of hashed words."""
    doc, tokens = sentence.doc, slice(sentence.start, sentence.end)
    if doc.tensor.ndim == 2 and len(doc.tensor) == len(doc):
        return to_numpy(doc.tensor[tokens]).mean(axis=0)
    mixed = _attributes(sentence, [LOWER])[:, 0].astype("uint64") * np.uint64(0x9E3779B97F4A7C15)
    column = ((mixed >> np.uint64(40)) % np.uint64(N_HASHED)).astype("int64")
    sign = np.where((mixed >> np.uint64(20)) & np.uint64(1), 1.0, -1.0)
    return np.bincount(column, weights=sign, minlength=N_HASHED)


def _attributes(sentence: Span, attributes: list[int]) -> np.ndarray:
    """Return attributes of a sentence's tokens, shape (n_tokens, n_attributes)."""
    span: Any = sentence  # spaCy's type stub lacks to_array
    return span.to_array(attributes)
