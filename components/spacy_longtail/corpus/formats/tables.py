"""Formats with one token and its tag on each line: columns, CoNLL-U and CSV."""

import csv
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from spacy.tokens import Doc

from .context import Context, Events
from .options import DEFAULT_COLUMNS, Columns, TagOptions, check_columns
from .tags import Rows, TaggedToken, is_tag, spaces_in, tagged_docs
from .text import Place, lines, open_text, unreadable

MARK, NEWDOC = "-DOCSTART-", "# newdoc"  # of a document, in columns and in CoNLL-U
N_HEAD = 2000  # lines from which columns are judged
TOKEN_NAMES = ("token", "tokens", "word", "words", "form", "text")  # in a row of names
KAGGLE = Columns("Word", "Tag", "Sentence #")
CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
PLUS, TEXT = "# global.columns =", "# text ="
KEYS = ("NE", "NER", "NAME")  # of the tag in MISC, whatever their case
# key=value pairs of MISC, which some files separate with a blank instead of |
PAIRS = re.compile(r"(?:^|[|\s])\s*(\w+)\s*=\s*(.*?)\s*(?=\||$|\s\w+=)")
COLUMNS_FIX = "Name the columns with --columns token=...,tag=..."
CONLLU_FIX = "Write the columns of CoNLL-U, separated by tabs."


# --- columns


@dataclass(frozen=True, kw_only=True)
class ColumnReader(TagOptions):
    """Reader of columns: a token and its tag per line, separated by tabs or blanks.

    token_column (Optional[int]): Number of the token's column, from 0, or from -1 backwards. null
        is the first, which must not hold numbers or document names.
    tag_column (Optional[int]): Number of the tag's column. null is the last.
    documents (bool): Whether the sentences after each -DOCSTART- line form one document.
    comments (Optional[bool]): Whether lines that begin with # are skipped. null skips them in files
        that begin with one, except where such a line has a token and a tag.
    """

    token_column: int | None = None
    tag_column: int | None = None
    documents: bool = False
    comments: bool | None = None

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield a document per sentence, or per -DOCSTART- line."""
        head = [line for _, line in itertools.islice(lines(path, self.encoding), N_HEAD)]
        is_plain = (self.token_column, self.tag_column, self.documents) == (None, None, False)
        if is_plain and all(map(_is_piped, filter(str.strip, head))):
            return tagged_docs(lambda _: _piped_rows(path, self.encoding), context, self.scheme)
        comment_width = self._comment_width(head)
        self._check_columns(path, head, comment_width)
        rows = partial(self._rows, path, comment_width)
        return tagged_docs(rows, context, self.scheme, documents=self.documents)

    def _comment_width(self, head: list[str]) -> int | None:
        """Return the number of columns of rows in a file with comments.

        head (List[str]): The first lines of the file.
        RETURNS (Optional[int]): The number; null if the file has no comments, and 0 if every line
            that begins with # is one.
        """
        if self.comments is not None:
            return 0 if self.comments else None
        first = next((line for line in head if line.strip()), "")
        width = len(cells_of(_first_row(head)))
        return width if first[:1] == "#" and not self._is_row(first, width) else None

    def _check_columns(self, path: Path, head: list[str], comment_width: int | None) -> None:
        """Refuse a file whose columns of tokens and tags have to be named.

        path (Path): The file, for messages.
        head (List[str]): Its first lines.
        comment_width (Optional[int]): Number of columns, as `_comment_width` returns it.
        """
        sentences: list[list[list[str]]] = [[]]
        for line in head:
            if not line.strip() or line.startswith(MARK):
                sentences.append([])
            elif not self._is_comment(line, comment_width):
                sentences[-1].append(cells_of(line))
        table = [sentence for sentence in sentences if len({len(cells) for cells in sentence}) == 1]
        row = _first_row(head)
        place, cells = Place(path, 1 + head.index(row) if row else 1), cells_of(row)
        if len(cells) > 1 and cells[0].casefold() in TOKEN_NAMES and not is_tag(cells[-1]):
            raise unreadable(
                place,
                f"found {row[:60]!r}, which looks like the names of columns",
                "Use --format csv with --columns token=...,tag=...",
            )
        if self.token_column is None and (what := _no_token(table)):
            numbered = ", ".join(f"{i} {cell[:20]!r}" for i, cell in enumerate(cells))
            raise unreadable(
                place,
                f"the first column, {cells[0][:60]!r}, is {what} and no token",
                f"Name two of the columns {numbered} with --token-column and --tag-column.",
            )
        if self.tag_column is None and (column := _other_tag_column(table)) is not None:
            raise unreadable(
                place,
                f"the last column, {cells[-1][:60]!r}, has no tags, but column {column} has",
                f"Name it: --tag-column {column}.",
            )

    def _is_row(self, line: str, width: int) -> bool:
        """Return whether a line that begins with # is a row, as "#hashtag O" and "# O" are."""
        cells, tag = cells_of(line), -1 if self.tag_column is None else self.tag_column
        if len(cells) != width or not -width <= tag < width:
            return False
        return line[1:2] not in (" ", "\t") or is_tag(cells[tag].strip())

    def _is_comment(self, line: str, width: int | None) -> bool:
        return width is not None and line[0] == "#" and not (width and self._is_row(line, width))

    def _rows(self, path: Path, comment_width: int | None, events: Events) -> Rows:
        token, tag = self.token_column or 0, -1 if self.tag_column is None else self.tag_column
        width = 0  # columns of the sentence
        for place, line in lines(path, self.encoding):
            if line.startswith(MARK) or not line.strip():
                width = 0
                yield "document" if line.startswith(MARK) else "sentence"
                continue
            if self._is_comment(line, comment_width):
                events.add("comments", "lines", place, line[:60])
                continue
            cells = cells_of(line)
            width = width or len(cells)
            if len(cells) < 2 or len(cells) != width:
                problem = f"expected {max(width, 2)} columns, found {line[:60]!r}"
                fix = "Write token TAB tag on all lines of a sentence."
                if line[0] == "#":
                    fix = "If it is a comment, pass --comments."
                raise unreadable(place, problem, fix)
            for option, at in (("token", token), ("tag", tag)):
                if not -width <= at < width:
                    raise unreadable(
                        place,
                        f"there are {width} columns, but --{option}-column is {at}",
                        "Count from 0, or from -1 backwards.",
                    )
            yield TaggedToken(place, cells[token], cells[tag].strip())


def _first_row(head: list[str]) -> str:
    """Return the first line that is neither blank, nor a mark, nor begins with #; "" if none is."""
    rows = (line for line in head if line.strip() and line[0] != "#" and not line.startswith(MARK))
    return next(rows, "")


def cells_of(line: str) -> list[str]:
    """Return the columns of a line. Other white space, as a no-break space, is part of a token."""
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _is_piped(line: str) -> bool:
    """Return whether a line is a sentence of spaCy 2's .iob files: token|POS|tag token|POS|tag."""
    return all("|" in cell and is_tag(cell.rpartition("|")[2]) for cell in line.split())


def _piped_rows(path: Path, encoding: str) -> Rows:
    for place, line in lines(path, encoding):
        yield "sentence"
        for cell in line.split():
            parts = cell.split("|")
            yield TaggedToken(place, "|".join(parts[:-2]) or parts[0], parts[-1])


def _no_token(table: list[list[list[str]]]) -> str:
    """Return what the first column of a file holds instead of tokens, or "" if it may hold tokens.

    table (List[List[List[str]]]): Columns of each line of each sentence.
    """
    long = [list(zip(*sentence, strict=True)) for sentence in table if len(sentence) > 1]
    if not long or any(len(columns) < 3 for columns in long):
        return ""
    if all(_is_running(columns[0]) for columns in long):
        return "a running number"
    # "ha ha ha" has one token throughout, but then no other column of the file varies
    others = any(len(set(column)) > 1 for columns in long for column in columns[1:-1])
    if others and all(len(set(columns[0])) == 1 for columns in long):
        return "the same throughout each sentence"
    return ""


def _is_running(cells: tuple[str, ...]) -> bool:
    """Return whether cells are consecutive numbers."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    numbers = [int(cell[:15]) for cell in cells]
    return all(b == a + 1 for a, b in itertools.pairwise(numbers))


def _other_tag_column(table: list[list[list[str]]]) -> int | None:
    """Return the column with tags, if the last one has none."""
    rows = [cells for sentence in table for cells in sentence]
    if not rows or len({len(cells) for cells in rows}) != 1:
        return None
    *others, last = ([is_tag(cell.strip()) for cell in column] for column in zip(*rows, strict=True))
    if all(last):
        return None
    has_entity = [any(len(cell) > 1 for cell in column) for column in zip(*rows, strict=True)]
    return next((i for i, column in enumerate(others) if i and all(column) and has_entity[i]), None)


# --- CoNLL-U


@dataclass(frozen=True, kw_only=True)
class ConlluReader(TagOptions):
    """Reader of CoNLL-U and CoNLL-U Plus.

    columns (Columns): `tag` names the column of the tags, or their key in MISC.
    documents (bool): Whether the sentences after each `# newdoc` form one document.
    """

    columns: Columns = DEFAULT_COLUMNS
    documents: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, {"tag"}, set(), "conllu")

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield a document per sentence, or per `# newdoc`."""
        rows = partial(self._rows, path, context.unlabelled)
        return tagged_docs(rows, context, self.scheme, documents=self.documents)

    def _rows(self, path: Path, unlabelled: bool, events: Events) -> Rows:
        """Yield the words of each sentence; words without a tag are O."""
        sentence = ConlluSentence()
        names, wanted = list(CONLLU), self.columns.tag.upper()
        place, n_tags = Place(path, 0), 0
        for place, line in lines(path, self.encoding):
            if not line.strip() or line.startswith(NEWDOC):
                yield from sentence.rows(events)
                sentence = ConlluSentence()
                yield "document" if line.strip() else "sentence"
                continue
            if line.startswith(PLUS):
                names = line.removeprefix(PLUS).upper().split()
            elif line.startswith(TEXT):
                sentence.text = line.removeprefix(TEXT).strip()
            if line[0] == "#":
                continue
            cells = line.split("\t")
            column = _tag_column(names, wanted, cells, place)
            row = dict(zip(names, cells, strict=True))
            misc = {key.upper(): value for key, value in PAIRS.findall(row.get("MISC", ""))}
            space = misc["SPACEAFTER"].upper() != "NO" if "SPACEAFTER" in misc else None
            if not cells[0].isdecimal() and set(cells[0]) & set("-."):
                if "-" in cells[0]:  # a range of words; the other is an empty node
                    sentence.ranges[len(sentence.words)] = (cells[0], row["FORM"], space)
                continue
            tag = row[column].strip()
            if column == "MISC" and wanted != "MISC":
                tag = next((misc[key] for key in ([wanted] if wanted else KEYS) if key in misc), "")
            tag = "" if tag == "_" else tag
            n_tags += bool(tag)
            sentence.words.append(TaggedToken(place, row["FORM"], tag or "O", space))
        yield from sentence.rows(events)
        if place.line and not n_tags and not unlabelled:
            raise unreadable(
                place,
                f"no word has a tag, neither in a column nor in MISC as {wanted or 'NE'}=",
                "Name the column, or the key in MISC: --columns tag=...",
            )


def _tag_column(names: list[str], wanted: str, cells: list[str], place: Place) -> str:
    """Return the name of the column that holds the tags, refusing lines of another form.

    names (List[str]): Names of the columns, in upper case.
    wanted (str): Name of a column or a key in MISC, in upper case; "" looks for the usual ones.
    """
    ner = [name for name in names if name.rpartition(":")[2] in KEYS]
    column = wanted if wanted in names else "MISC"
    if not wanted and "MISC" not in names and len(ner) == 1:
        (column,) = ner
    listed = ", ".join(names)
    if len(cells) != len(names):
        raise unreadable(
            place, f"found {len(cells)} columns instead of {len(names)}: {listed}", CONLLU_FIX
        )
    if twice := next((name for name in ("FORM", column) if names.count(name) > 1), ""):
        raise unreadable(place, f"there are two columns {twice}: {listed}", "Rename one of them.")
    if "FORM" not in names:
        raise unreadable(place, f"there is no column FORM, found {listed}", CONLLU_FIX)
    if column not in names:
        raise unreadable(
            place,
            f"there is no column {wanted or 'MISC'} with the tags, found {listed}",
            "Name the column of the tags: --columns tag=...",
        )
    return column


@dataclass
class ConlluSentence:
    """Words of a CoNLL-U sentence, and how they were written.

    words (List[TaggedToken]): Words of the syntax.
    text (str): Value of `# text`, or "".
    ranges (Dict[int, Tuple[str, str, Optional[bool]]]): Multiword tokens by the index of their
        first word: ID, such as 1-2; text; whether a blank follows.
    """

    words: list[TaggedToken] = field(default_factory=list)
    text: str = ""
    ranges: dict[int, tuple[str, str, bool | None]] = field(default_factory=dict)

    def rows(self, events: Events) -> Iterator[TaggedToken]:
        """Yield the tokens as they were written, with their spaces if these are known.

        A multiword token whose words do not spell it, as French "du", is one token, with the first
        of their tags that is not O.
        """
        kept: list[TaggedToken] = []
        at = 0
        while at < len(self.words):
            numbers, form, space = self.ranges.get(at, ("", "", None))
            first, _, last = numbers.partition("-")
            n = int(last[:9]) - int(first[:9]) + 1 if first.isdecimal() and last.isdecimal() else 1
            words = self.words[at : at + max(n, 1)]
            if not numbers:
                kept.append(words[0])
            elif "".join(word.word for word in words) == form:
                kept += [word._replace(space=False) for word in words[:-1]]
                kept.append(words[-1]._replace(space=space))
            else:
                tags = [word.tag or "O" for word in words]
                tag = next((tag for tag in tags if tag != "O"), "O")
                if len({tag[2:] for tag in tags}) > 1:
                    events.add("contracted", tag, words[0].place, f"{form!r} {', '.join(tags)}")
                kept.append(TaggedToken(words[0].place, form, tag, space))
            at += len(words)
        if not self.text and all(word.space is None for word in kept):
            return iter(kept)
        spaces = spaces_in(" ".join(self.text.split()), [word.word for word in kept])
        spaces = spaces or [word.space is not False for word in kept]
        return (word._replace(space=space) for word, space in zip(kept, spaces, strict=True))


# --- CSV


@dataclass(frozen=True, kw_only=True)
class CsvReader(TagOptions):
    """Reader of CSV and TSV with a row of names and one token per row.

    A new value in the sentence's column begins a sentence, an empty one continues it. An empty row
    ends a sentence.

    columns (Columns): Names of the columns. Without any, those of Kaggle's GMB file.
    """

    columns: Columns = DEFAULT_COLUMNS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, {"token", "tag", "sentence"}, {"token", "tag"}, "csv")

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield a document per sentence."""
        return tagged_docs(lambda _: self._rows(path, context.unlabelled), context, self.scheme)

    def _rows(self, path: Path, unlabelled: bool) -> Rows:
        columns, running = self.columns if any(self.columns) else KAGGLE, ""
        with open_text(path, self.encoding, newline="") as file:
            first = file.readline()
            delimiter = max("\t;,", key=first.count)
            # where tabs separate, a quotation mark is a token as any other
            quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
            source = itertools.chain([first], file)
            rows = csv.reader(source, delimiter=delimiter, quoting=quoting, strict=True)
            try:
                names = [name.strip() for name in next(rows, [])]
                if unlabelled and columns.tag not in names:
                    columns = columns._replace(tag=columns.token)  # any column will do
                _check_names(names, columns, Place(path, 1))
                token, tag = names.index(columns.token), names.index(columns.tag)
                sentence = names.index(columns.sentence) if columns.sentence else None
                for row in rows:
                    place = Place(path, rows.line_num)
                    if not any(row):
                        yield "sentence"
                        continue
                    if len(row) != len(names):
                        raise unreadable(
                            place,
                            f"found {len(row)} columns where the first row has {len(names)}",
                            COLUMNS_FIX,
                        )
                    number = "" if sentence is None else row[sentence].strip()
                    if sentence is not None and not (number or running):
                        raise unreadable(place, "the first token has no sentence number", COLUMNS_FIX)
                    if number not in ("", running):
                        yield "sentence"
                        running = number
                    yield TaggedToken(place, row[token], row[tag].strip())
            except csv.Error as error:
                place = Place(path, rows.line_num)
                raise unreadable(place, f"this is no CSV: {error}", COLUMNS_FIX) from error


def _check_names(names: list[str], columns: Columns, place: Place) -> None:
    """Refuse a row of names that lacks a wanted column or has it twice."""
    for name in filter(None, columns):
        if name not in names:
            raise unreadable(
                place,
                f"there is no column {name}, found {', '.join(filter(None, names)) or 'none'}",
                COLUMNS_FIX,
            )
        if names.count(name) > 1:
            raise unreadable(
                place,
                f"there are {names.count(name)} columns of the name {name}",
                "Rename all but one of them.",
            )
