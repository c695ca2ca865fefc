"""Balanced undersampling: keep entity tokens and their neighbours."""

from collections.abc import Iterator

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Ints1d

from ..corpus.cutting import bare, take_tokens
from ..corpus.examples import same_tokens, warn_of_document_annotation
from ..errors import Errors
from ..sentences import sentence_lengths
from ..settings import finite
from .base import Reader, WrappingReader

TOKEN_RATIO = 3.0  # tokens to keep for each entity token


class UndersampledCorpus(WrappingReader):
    """Balanced undersampling (BUS): keep the entity tokens of each sentence and their neighbours.

    Neighbours of the kept tokens are added, one round after the other, until a sentence has `ratio`
    tokens for each entity token. Sentences without entities are dropped, and documents without any.
    A baseline: it helps shallow models at best, since it destroys sentences that others learn from.

    corpus (Callable): Reader to undersample, a function of nlp to examples, such as
        spacy.Corpus.v1.
    ratio (float): Number of tokens to keep per entity token, at least 1. The last round may exceed
        it.
    RETURNS (Callable): The reader, a function of nlp to examples.
    SOURCE: Akkasi et al. 2018, with the semantics of Wang & Wang 2022 (docs/methods.md,
        "Subsets of a corpus").
    EXAMPLE:
        >>> from spacy_longtail.readers import UndersampledCorpus
        >>> corpus = UndersampledCorpus(lambda nlp: examples, ratio=1.0)
        >>> [eg.reference.text for eg in corpus(nlp)]
        ['Hurricane Ida ', 'Sandy Key West ']
    """

    yields_copies = True
    may_be_counted = True

    def __init__(self, corpus: Reader, ratio: float = TOKEN_RATIO) -> None:
        super().__init__(corpus)
        self.ratio = finite("ratio", ratio, "a number of at least 1", "3 is the usual value.", low=1)

    def examples(self, nlp: Language) -> Iterator[Example]:
        n_docs, n_kept = 0, 0
        for eg in self.corpus(nlp):
            n_docs += 1
            kept = document_tokens(eg.reference, self.ratio)
            if len(kept):
                n_kept += 1
                warn_of_document_annotation(eg)
                reference = take_tokens(eg.reference, kept)
                predicted = bare(reference) if same_tokens(eg) else nlp.make_doc(reference.text)
                yield Example(predicted, reference)
        if n_docs and not n_kept:
            problem = f"none of {n_docs} documents has an entity"
            raise ValueError(Errors.L120.format(who="longtail.UndersampledCorpus.v1", problem=problem))


def kept_tokens(entity: np.ndarray, ratio: float = TOKEN_RATIO) -> Ints1d:
    """Return the tokens of a sentence that balanced undersampling keeps.

    entity (Array[bool]): Whether each token belongs to an entity, shape (n_tokens,).
    ratio (float): Tokens to keep per entity token.
    RETURNS (Ints1d): Ascending token indices, shape (n_kept,); empty without an entity.
    """
    wanted = min(ratio * int(entity.sum()), len(entity))
    kept = entity.copy()
    while int(kept.sum()) < wanted:
        grown = kept.copy()
        grown[1:] |= kept[:-1]
        grown[:-1] |= kept[1:]
        kept = grown
    return np.flatnonzero(kept)


def document_tokens(doc: Doc, ratio: float = TOKEN_RATIO) -> Ints1d:
    """Return the tokens of a document that balanced undersampling keeps, shape (n_kept,)."""
    entity = np.isin(doc.to_array("ENT_IOB"), (1, 3)) & (doc.to_array("ENT_TYPE") != 0)
    if not entity.any():
        return np.zeros(0, dtype="int64")
    lengths = sentence_lengths(doc)
    starts = np.cumsum(lengths) - lengths
    sentences = zip(starts, np.split(entity, starts[1:]), strict=True)
    return np.concatenate([start + kept_tokens(flags, ratio) for start, flags in sentences])
