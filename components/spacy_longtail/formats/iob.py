"""IOB2 files with the settings of `convert` left alone."""

from collections.abc import Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from . import columns
from .context import Context, Events, Settings


def read_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """One document a sentence, its tokens as given.

    path (Path): An IOB2 file.
    vocab (Vocab): The vocabulary of the documents.
    """
    return columns.read_docs(path, Context(Language(vocab), Settings(), Events()))
