"""CSV and TSV, one token per row: in the layout of Kaggle's GMB file, or with columns of any names."""

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from spacy.tokens import Doc

from .context import Context, Settings
from .tag_names import Columns
from .tagged import TaggedSentence, tagged_docs
from .text import bad_line, check_tool, open_text

KAGGLE = Columns("Word", "Tag", "Sentence #")
FIX = "The first row must name the columns {names}. Name others with --columns token=...,tag=..."
DELIMITERS = "\t;,"


class _Row(NamedTuple):
    line: int
    word: str
    tag: str
    sentence: str


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, its tokens as given.

    path (Path): Columns separated by tabs, semicolons or commas, whichever its first row has most of.
    context (Context): Its columns have the names of the settings; else those of Kaggle's file. A new
        value in the column of the sentence opens one, an empty one continues; without that column, a
        blank row ends one.
    """
    columns = context.settings.columns
    columns = columns if columns.named else KAGGLE
    fix = FIX.format(names=", ".join(repr(name) for name in columns if name))
    yield from tagged_docs(path, _sentences(path, context.settings, columns, fix), context, fix)


def _sentences(path: Path, settings: Settings, columns: Columns, fix: str) -> Iterator[TaggedSentence]:
    rows: list[_Row] = []
    running = ""
    for row in _rows(path, settings, columns, fix):
        number = row.sentence if row else ""
        ends = number not in ("", running) if row else not columns.sentence
        if rows and ends:
            yield _sentence(rows)
            rows = []
        running = number or running
        if row is None:
            continue
        if columns.sentence and not running:
            raise bad_line(path, row.line, "the first token has no sentence number", fix)
        rows.append(row)
    if rows:
        yield _sentence(rows)


def _sentence(rows: list[_Row]) -> TaggedSentence:
    at, words, tags, _ = zip(*rows, strict=True)
    return TaggedSentence(at, list(words), list(tags))


def _rows(path: Path, settings: Settings, columns: Columns, fix: str) -> Iterator[_Row | None]:
    """Each row; none for a blank one."""
    with open_text(path, settings.encoding, newline="") as file:
        first = file.readline()
        check_tool(path, first)
        delimiter = max(DELIMITERS, key=first.count)
        # where tabs separate, a quotation mark is a token as any other
        quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        chained = itertools.chain([first], file)
        rows = csv.reader(chained, delimiter=delimiter, quoting=quoting, strict=True)
        try:
            names = [name.strip() for name in next(rows, [])]
            if settings.unlabelled and columns.tag not in names:
                columns = columns._replace(tag=columns.token)  # any will do
            if not {name for name in columns if name} <= set(names):
                raise bad_line(path, 1, f"found the columns {', '.join(names) or 'none'}", fix)
            i_token, i_tag = names.index(columns.token), names.index(columns.tag)
            i_sentence = names.index(columns.sentence) if columns.sentence else None
            for row in rows:
                if not (row if columns.sentence else any(row)):
                    yield None
                    continue
                if len(row) != len(names):
                    problem = f"found {len(row)} columns where the first row has {len(names)}"
                    raise bad_line(path, rows.line_num, problem, fix)
                sentence = "" if i_sentence is None else row[i_sentence].strip()
                yield _Row(rows.line_num, row[i_token], row[i_tag].strip(), sentence)
        except csv.Error as error:
            raise bad_line(path, rows.line_num, f"this is no CSV: {error}", fix) from error
