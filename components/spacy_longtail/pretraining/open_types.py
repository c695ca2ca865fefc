"""Donors whose mentions have types of their own, a fine and a coarse one: `fine; coarse`."""

from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.descriptions import TYPES, has_open_types
from ..corpus.formats.context import Context, Events, Settings
from ..corpus.formats.open_types import SENTENCES
from ..corpus.formats.sources import FORMATS, find_parts

FEWEST = 3  # words of a sentence


def is_open(folder: Path) -> bool:
    """Whether each mention of a donor has a type of its own: types.json says so, or it is text.

    RAISES (ValueError): L430.
    """
    if (folder / TYPES).is_file():
        return has_open_types(folder)
    return any(folder.glob("*.txt")) or (folder / SENTENCES).is_file()


def read_open_types(folder: Path, vocab: Vocab) -> Iterator[Doc]:
    """The sentences of a corpus of open types that is not converted, such as assets/open_types.

    folder (Path): In the format "open" of `convert`. vocab (Vocab): Of the documents.
    YIELDS (Doc): Without sentences of fewer than three words.
    RAISES (ValueError): L401 to L403, L423 to L427, L550.
    """
    settings = Settings(format="open", misaligned=FORMATS["open"].misaligned)
    context = Context(spacy.blank(vocab.lang, vocab=vocab), settings, Events())
    for part in find_parts(folder, (), settings).values():
        yield from (doc for doc in part.read(context) if len(doc) >= FEWEST)
