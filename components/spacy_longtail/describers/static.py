"""Descriptions by static vectors of their words."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from spacy.vocab import Vocab
from thinc.types import Floats2d

from ..errors import Errors
from ..layers.subwords import SubwordTable, read_subwords
from .base import unit_rows, words


@dataclass(frozen=True)
class VectorDescriptions:
    """The mean of the pipeline's own word vectors over the words of a description.

    vocab (Optional[Vocab]): Of the pipeline, which fills it in; null in a config.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    RAISES (ValueError): When called L240 where the pipeline has no vectors.
    """

    vocab: Vocab | None = None  # of the pipeline: see `with_vocab`

    def with_vocab(self, vocab: Vocab) -> "VectorDescriptions":
        """The same, of a pipeline's vocabulary."""
        return VectorDescriptions(vocab)

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the vectors)."""
        if self.vocab is None or not self.vocab.vectors_length:
            raise ValueError(Errors.L240.format(who="longtail.VectorDescriptions.v1"))
        return unit_rows(np.stack([_mean(self.vocab, text) for text in texts]))


def _mean(vocab: Vocab, text: str) -> np.ndarray:
    found = [vocab.get_vector(w) for w in words(text) if vocab.has_vector(w)]
    return np.mean(found, axis=0) if found else np.zeros(vocab.vectors_length)


@dataclass(frozen=True)
class SubwordDescriptions:
    """The mean of the subword vectors of a description.

    source (str): An encoder such as "en_longtail_cnn", or a Model2Vec model, a folder or its name on the
        hub (extra `model2vec`).
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    RAISES (ValueError): When called L264, L406.
    """

    source: str

    @cached_property
    def _table(self) -> SubwordTable:
        return read_subwords(self.source)

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the vectors)."""
        cut = [self._table.cut(words(text)) for text in texts]
        return unit_rows(self._table.means([[row for rows in own for row in rows] for own in cut]))

    def release(self) -> None:
        """Let go of the vectors, which are read again where they are needed."""
        self.__dict__.pop("_table", None)
