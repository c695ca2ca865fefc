"""Formats with one token and its tag on each line: columns, CoNLL-U and CSV."""

import csv
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .columns import Columns
from .context import Context, Settings
from .schemes import IllegalTagError, find_scheme, to_iob2
from .text import Place, check_tool, lines, open_text, unreadable

MARK, NEWDOC = "-DOCSTART-", "# newdoc"  # of a document, in columns and in CoNLL-U
KAGGLE = Columns("Word", "Tag", "Sentence #")
CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
PLUS = "# global.columns ="
KEYS = ("NE", "NER", "NAME")  # of the tag in MISC, whatever their case
SCHEME_FIX = "If the file is in another scheme, name it: --scheme iob1, iob2, bioes or bilou."
COLUMNS_FIX = "Name the columns with --columns token=...,tag=..."
CONLLU_FIX = "Write the columns of CoNLL-U, separated by tabs."


class TaggedToken(NamedTuple):
    place: Place
    word: str
    tag: str  # in the scheme of the file


Break = Literal["sentence", "document"]  # what begins after it


class Tagger:
    """Words and IOB2 tags of sentence after sentence; the scheme shows with the first entity."""

    def __init__(self, context: Context) -> None:
        self.events, self.scheme = context.events, context.settings.scheme
        self.unlabelled = context.settings.unlabelled

    def __call__(self, rows: Sequence[TaggedToken]) -> tuple[list[str], list[str]]:
        """Words and tags, without tokens of white space that begin and end no entity."""
        kept: list[TaggedToken] = []
        for row in rows:
            if row.word.strip():
                kept.append(row)
            elif self.unlabelled or row.tag[:1] in "OI":
                self.events.add("blank", "tokens", row.place, repr(row.word))
            else:
                problem = "expected a token, found white space alone"
                raise unreadable(row.place, problem, "Remove the token.")
        words = [row.word.strip() for row in kept]
        for row, word in zip(kept, words, strict=True):
            if len(word.split()) > 1:
                self.events.add("spaced", "tokens", row.place, repr(word))
        if self.unlabelled:
            return words, ["O"] * len(words)
        tags = [row.tag for row in kept]
        if self.scheme == "auto":
            self.scheme = find_scheme(tags)
        try:
            return words, to_iob2(tags, self.scheme)
        except IllegalTagError as illegal:
            raise unreadable(
                kept[illegal.i].place, f"{illegal} in {self.scheme}", SCHEME_FIX
            ) from illegal


def _docs(rows: Iterable[TaggedToken | Break], path: Path, context: Context, fix: str) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences from mark to mark.

    The tokens are as given. Spacing is unknown, so spaCy trains on these tokens.
    """
    read, whole, vocab = Tagger(context), context.settings.documents, context.nlp.vocab
    words: list[str] = []
    tags: list[str] = []
    starts: list[bool | int | None] = []
    n_docs, opens = 0, False
    for is_row, group in itertools.groupby(rows, lambda row: isinstance(row, TaggedToken)):
        if not is_row:
            opens = "document" in group
            continue
        sentence = [row for row in group if isinstance(row, TaggedToken)]
        if words and (opens or not whole):
            yield Doc(vocab, words=words, ents=tags, sent_starts=starts)
            n_docs, words, tags, starts = n_docs + 1, [], [], []
        if whole and not words and not opens:
            problem = "no mark of a document before its first sentence, as --documents needs"
            raise unreadable(sentence[0].place, problem, "Leave --documents out.")
        more_words, more_tags = read(sentence)
        words += more_words
        tags += more_tags
        starts += [i == 0 for i in range(len(more_words))]
    if words:
        yield Doc(vocab, words=words, ents=tags, sent_starts=starts)
    elif not n_docs:
        raise ValueError(Errors.L403.format(path=path, fix=fix))


def read_columns(path: Path, context: Context) -> Iterator[Doc]:
    """A token and its tag on each line; one document per sentence, or from -DOCSTART- on."""
    yield from _docs(_columns(path, context.settings), path, context, "Write token TAB tag.")


def _columns(path: Path, settings: Settings) -> Iterator[TaggedToken | Break]:
    width = 0  # columns of the sentence
    for i, line in enumerate(lines(path, settings.encoding), 1):
        place = Place(path, i)
        if i == 1:
            check_tool(place, line)
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


def read_conllu(path: Path, context: Context) -> Iterator[Doc]:
    """CoNLL-U and CoNLL-U Plus. One document per sentence, or from `# newdoc` on.

    The words are those of the syntax: of a range such as 1-2, its parts. Words without a tag are O.
    """
    yield from _docs(_conllu(path, context.settings), path, context, CONLLU_FIX)


def _conllu(path: Path, settings: Settings) -> Iterator[TaggedToken | Break]:
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
        at = next((names.index(name) for name in (wanted, "MISC") if name in names), -1)
        if len(cells) != len(names) or "FORM" not in names or at < 0:
            problem = f"found {len(cells)} columns for {len(names)}: {', '.join(names)}"
            raise unreadable(place, problem, CONLLU_FIX)
        if not cells[0].isdecimal() and set(cells[0]) & set("-."):
            continue  # a range of words, or an empty node
        tag = cells[at].strip()
        if names[at] != wanted:
            pairs = (pair.partition("=") for pair in tag.split("|"))
            found = {key.strip().upper(): value.strip() for key, _, value in pairs}
            tag = next((found[k] for k in ([wanted] if wanted else KEYS) if k in found), "")
        tag = "" if tag == "_" else tag
        n_tags += bool(tag)
        yield TaggedToken(place, cells[names.index("FORM")], tag or "O")
    if place.line and not n_tags and not settings.unlabelled:
        problem = f"no word has a tag, neither in a column nor in MISC as {wanted or 'NE'}="
        raise unreadable(place, problem, "Name the column, or key of MISC: --columns tag=...")


def read_csv(path: Path, context: Context) -> Iterator[Doc]:
    """CSV and TSV, one token per row. One document per sentence.

    context (Context): Its columns have the names of the settings; else those of Kaggle's GMB file. A
        new value in the column of the sentence opens one, an empty one continues; without that
        column, a blank row ends one.
    """
    yield from _docs(_csv(path, context.settings), path, context, COLUMNS_FIX)


def _csv(path: Path, settings: Settings) -> Iterator[TaggedToken | Break]:
    columns, running = settings.columns if settings.columns.named else KAGGLE, ""
    with open_text(path, settings.encoding, newline="") as file:
        first = file.readline()
        check_tool(Place(path, 1), first)
        delimiter = max("\t;,", key=first.count)
        # where tabs separate, a quotation mark is a token as any other
        quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        rows = csv.reader(
            itertools.chain([first], file), delimiter=delimiter, quoting=quoting, strict=True
        )
        try:
            names = [name.strip() for name in next(rows, [])]
            if settings.unlabelled and columns.tag not in names:
                columns = columns._replace(tag=columns.token)  # any will do
            missing = {name for name in columns if name} - set(names)
            if missing:
                problem = f"no column {', '.join(sorted(missing))} among {', '.join(names) or 'none'}"
                raise unreadable(Place(path, 1), problem, COLUMNS_FIX)
            for row in rows:
                place = Place(path, rows.line_num)
                if not (row if columns.sentence else any(row)):
                    if not columns.sentence:
                        yield "sentence"
                    continue
                if len(row) != len(names):
                    problem = f"found {len(row)} columns where the first row has {len(names)}"
                    raise unreadable(place, problem, COLUMNS_FIX)
                cells = dict(zip(names, row, strict=True))
                number = cells[columns.sentence].strip() if columns.sentence else ""
                if columns.sentence and not (number or running):
                    raise unreadable(place, "the first token has no sentence number", COLUMNS_FIX)
                if number not in ("", running):
                    yield "sentence"
                    running = number
                yield TaggedToken(place, cells[columns.token], cells[columns.tag].strip())
        except csv.Error as error:
            raise unreadable(
                Place(path, rows.line_num), f"this is no CSV: {error}", COLUMNS_FIX
            ) from error
