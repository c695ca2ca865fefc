"""CSV in the layout of Kaggle's GMB file: one token per row, the sentence's number on its first row."""

import csv
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc

from .context import Context
from .tagged import TaggedSentence, tagged_docs
from .text import bad_line, open_text

COLUMNS = ("Sentence #", "Word", "Tag")
FIX = "The first row names the columns 'Sentence #', 'Word' and 'Tag', others are skipped."


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, its tokens as given.

    path (Path): A CSV file with the columns Sentence #, Word and Tag; a number opens a sentence.
    RAISES (ValueError): L401 with the line, L402, L403, L423.
    """
    yield from tagged_docs(path, _sentences(path, context.settings.encoding), context, FIX)


def _sentences(path: Path, encoding: str) -> Iterator[TaggedSentence]:
    at: list[int] = []
    words: list[str] = []
    tags: list[str] = []
    running = ""
    for line, number, word, tag in _rows(path, encoding):
        if number not in ("", running):
            if words:
                yield TaggedSentence(at, words, tags, False)
            at, words, tags, running = [], [], [], number
        elif not running:
            raise bad_line(path, line, "the first token has no sentence number", FIX)
        at.append(line)
        words.append(word)
        tags.append(tag.strip())
    if words:
        yield TaggedSentence(at, words, tags, False)


def _rows(path: Path, encoding: str) -> Iterator[tuple[int, str, str, str]]:
    """Line, sentence number, word and tag."""
    with open_text(path, encoding, newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            names = [name.strip() for name in next(rows, [])]
            if not set(COLUMNS) <= set(names):
                raise bad_line(path, 1, f"found the columns {', '.join(names) or 'none'}", FIX)
            places = [names.index(name) for name in COLUMNS]
            for row in rows:
                if not row:  # a blank line
                    continue
                if len(row) != len(names):
                    problem = f"found {len(row)} columns where the first row has {len(names)}"
                    raise bad_line(path, rows.line_num, problem, FIX)
                number, word, tag = (row[i] for i in places)
                yield rows.line_num, number.strip(), word, tag
        except csv.Error as error:
            raise bad_line(path, rows.line_num, f"this is no CSV: {error}", FIX) from error
