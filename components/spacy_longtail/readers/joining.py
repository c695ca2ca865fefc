"""Sentences joined to training documents: models that will read documents must see sentence borders."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import cast

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..corpus.soft import SoftTags, read_soft, write_soft
from ..settings import whole
from ..types import ANNOTATED_TYPES
from .base import warn_of_document_annotation
from .sentence_table import SentenceTable

JOIN_LIMIT = 10  # sentences: enough for a model to see what borders on what


def check_join(join: int | None) -> int | None:
    """The setting as a number."""
    return None if join is None else whole("join", join, "null takes the corpus's mean.", low=1)


def join_size(join: int | None, counts: SentenceTable) -> int:
    """Sentences per training document: the setting, or the corpus's mean."""
    mean = round(len(counts) / max(counts.n_docs, 1))
    return join or max(min(mean, JOIN_LIMIT), 1)


def joined(examples: Iterable[Example], size: int) -> Iterator[Example]:
    """Documents of `size` consecutive sentences, of each example its own at size 1.

    Sentences that were annotated with different types are not joined, nor are those that a teacher has
    read with others.
    """
    if size == 1:
        yield from examples
        return
    for (types, tags), alike in groupby(examples, key=_kind):
        for group in minibatch(alike, size):
            for eg in group:
                warn_of_document_annotation(eg)
            sides = zip(*((eg.predicted, eg.reference) for eg in group), strict=True)
            predicted, reference = (
                Doc.from_docs(list(docs), exclude=["user_data"])  # type: ignore[call-arg]
                for docs in sides
            )
            # joining marks where each part starts, which a predicted document must not know
            predicted.from_array(["SENT_START"], np.zeros((len(predicted), 1), dtype="uint64"))
            if types is not None:
                reference.user_data[ANNOTATED_TYPES] = types
            if tags is not None:
                soft = [cast(SoftTags, read_soft(eg.reference)).log_p for eg in group]
                write_soft(reference, tags, np.concatenate(soft))
            yield Example(predicted, reference)


def _kind(eg: Example) -> tuple[list[str] | None, list[str] | None]:
    """The types that a document was annotated with, and the tags of its soft targets."""
    types, soft = eg.reference.user_data.get(ANNOTATED_TYPES), read_soft(eg.reference)
    return None if types is None else sorted(types), None if soft is None else soft.tags
