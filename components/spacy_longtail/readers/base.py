"""What readers share: the units they deal in."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from spacy.language import Language
from spacy.training import Example

from ..examples import sentence_lengths

Reader = Callable[[Language], Iterable[Example]]
Unit = Literal["sentence", "doc"]


def units(examples: Iterable[Example], unit: Unit) -> Iterator[Example]:
    """Examples as they are ("doc"), or one for each annotated sentence ("sentence")."""
    for eg in examples:
        if unit == "doc" or len(sentence_lengths(eg.reference)) == 1:
            yield eg
        else:
            yield from eg.split_sents()
