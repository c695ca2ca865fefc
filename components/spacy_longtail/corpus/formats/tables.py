"""Formats with one token and its tag on each line: columns, CoNLL-U and CSV."""

import csv
import itertools
from pathlib import Path
from typing import Literal

from .context import Columns, Settings
from .tags import Rows, TaggedToken
from .text import Place, lines, open_text, unreadable

MARK, NEWDOC = "-DOCSTART-", "# newdoc"  # of a document, in columns and in CoNLL-U
KAGGLE = Columns("Word", "Tag", "Sentence #")
CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
PLUS = "# global.columns ="
KEYS = ("NE", "NER", "NAME")  # of the tag in MISC, whatever their case
COLUMNS_FIX = "Name the columns with --columns token=...,tag=..."
CONLLU_FIX = "Write the columns of CoNLL-U, separated by tabs."


def column_rows(path: Path, settings: Settings) -> Rows:
    """A token and its tag on each line; -DOCSTART- lines begin documents."""
    width = 0  # columns of the sentence
    for i, line in enumerate(lines(path, settings.encoding), 1):
        place = Place(path, i)
        if line.startswith(MARK) or not line.strip():
            width = 0
            yield "document" if line.startswith(MARK) else "sentence"
            continue
        # other white space, as a no-break space, is part of a token
        cells = line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]
        width = width or len(cells)
        if len(cells) < 2 or len(cells) != width:
            problem = f"expected {max(width, 2)} columns, found {line[:60]!r}"
            raise unreadable(place, problem, "Write token TAB tag on all lines of a sentence.")
        for option, at in (("token", settings.token_column), ("tag", settings.tag_column)):
            if not -width <= at < width:
                problem = f"there are {width} columns, but --{option}-column is {at}"
                raise unreadable(place, problem, "Count from 0, or from -1 backwards.")
        yield TaggedToken(place, cells[settings.token_column], cells[settings.tag_column].strip())


def conllu_rows(path: Path, settings: Settings) -> Rows:
    """CoNLL-U and CoNLL-U Plus; `# newdoc` begins documents.

    The words are those of the syntax: of a range such as 1-2, its parts. Words without a tag are O.
    """
    names, wanted = list(CONLLU), settings.columns.tag.upper()
    place, n_tags = Place(path, 0), 0
    for i, line in enumerate(lines(path, settings.encoding), 1):
        place = Place(path, i)
        if not line.strip() or line.startswith(NEWDOC):
            yield "document" if line.strip() else "sentence"
            continue
        if line.startswith(PLUS):
            names = line.removeprefix(PLUS).upper().split()
        if line[0] == "#":
            continue
        cells = line.split("\t")
        column = wanted if wanted in names else "MISC"
        if len(cells) != len(names) or not {"FORM", column} <= {*names}:
            problem = f"found {len(cells)} columns for {len(names)}: {', '.join(names)}"
            raise unreadable(place, problem, CONLLU_FIX)
        if not cells[0].isdecimal() and set(cells[0]) & set("-."):
            continue  # a range of words, or an empty node
        tag = cells[names.index(column)].strip()
        if column != wanted:
            pairs = (pair.partition("=") for pair in tag.split("|"))
            values = {key.strip().upper(): value.strip() for key, _, value in pairs}
            tag = next((values[key] for key in ([wanted] if wanted else KEYS) if key in values), "")
        tag = "" if tag == "_" else tag
        n_tags += bool(tag)
        yield TaggedToken(place, cells[names.index("FORM")], tag or "O")
    if place.line and not n_tags and not settings.unlabelled:
        problem = f"no word has a tag, neither in a column nor in MISC as {wanted or 'NE'}="
        raise unreadable(place, problem, "Name the column, or key of MISC: --columns tag=...")


def csv_rows(path: Path, settings: Settings) -> Rows:
    """CSV and TSV, one token per row. Without names of columns, those of Kaggle's GMB file.

    A new value in the sentence's column opens one, an empty one continues it. Blank rows end one.
    """
    columns, running = settings.columns if settings.columns.named else KAGGLE, ""
    with open_text(path, settings.encoding, newline="") as file:
        first = file.readline()
        delimiter = max("\t;,", key=first.count)
        # where tabs separate, a quotation mark is a token as any other
        quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        source = itertools.chain([first], file)
        rows = csv.reader(source, delimiter=delimiter, quoting=quoting, strict=True)
        try:
            names = [name.strip() for name in next(rows, [])]
            if settings.unlabelled and columns.tag not in names:
                columns = columns._replace(tag=columns.token)  # any will do
            if {*columns} - {*names, ""}:
                wanted = ", ".join(filter(None, columns))
                problem = f"{wanted} are not all among its columns {names}"
                raise unreadable(Place(path, 1), problem, COLUMNS_FIX)
            for row in rows:
                place, cells = Place(path, rows.line_num), dict(zip(names, row, strict=False))
                if not any(row):
                    yield "sentence"
                elif len(row) != len(names):
                    problem = f"found {len(row)} columns where the first row has {len(names)}"
                    raise unreadable(place, problem, COLUMNS_FIX)
                else:
                    number = cells.get(columns.sentence, "").strip()
                    if columns.sentence and not (number or running):
                        raise unreadable(place, "the first token has no sentence number", COLUMNS_FIX)
                    if number not in ("", running):
                        yield "sentence"
                        running = number
                    yield TaggedToken(place, cells[columns.token], cells[columns.tag].strip())
        except csv.Error as error:
            place = Place(path, rows.line_num)
            raise unreadable(place, f"this is no CSV: {error}", COLUMNS_FIX) from error
