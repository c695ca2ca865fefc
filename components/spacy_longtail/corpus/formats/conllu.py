"""CoNLL-U and CoNLL-U Plus: one word per line, with its tag in a column or among what MISC holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Settings
from .tagged import TaggedSentence, tagged_docs
from .text import bad_line, lines

NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
PLUS = "# global.columns ="
DOCUMENT = "# newdoc"
KEYS = ("NE", "NER", "NAME")  # in MISC, whatever their case
NOTHING = "_"
COLUMNS_FIX = "Name FORM, and MISC or the column of the tags, as --columns tag=..."
FIX = "Write ten columns, separated by tabs: the word is the second."


class _Layout(NamedTuple):
    """Where the words and the tags of a file stand."""

    width: int
    form: int
    tag: int  # the column, or MISC
    keys: tuple[str, ...]  # in MISC; none where the column is the tag

    def read(self, cell: str) -> str:
        """The tag in a cell, "" where there is none."""
        if not self.keys:
            return "" if cell == NOTHING else cell.strip()
        pairs = (pair.partition("=") for pair in cell.split("|"))
        found = {name.strip().upper(): value.strip() for name, _, value in pairs}
        return next((found[key] for key in self.keys if key in found), "")


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences from `# newdoc` to `# newdoc`.

    The words are those of the syntax: of a range such as 1-2, its parts. Words without a tag are O.
    """
    yield from tagged_docs(path, _sentences(path, context.settings), context, FIX)


def _sentences(path: Path, settings: Settings) -> Iterator[TaggedSentence]:
    layout = _layout(path, 1, NAMES, settings.columns.tag)
    at: list[int] = []
    rows: list[tuple[str, str]] = []
    opens, n_tags, i = False, 0, 0
    for i, line in enumerate(lines(path, settings.encoding), 1):
        if line and not line.isspace():
            if line[0] != "#":
                row = _word(path, i, line, layout)
                if row:
                    n_tags += bool(row[1])
                    at.append(i)
                    rows.append(row)
            elif line.startswith(PLUS):
                names = line.removeprefix(PLUS).split()
                layout = _layout(path, i, tuple(names), settings.columns.tag)
            elif line.startswith(DOCUMENT):
                opens = True
        elif rows:
            yield _sentence(at, rows, opens)
            at, rows, opens = [], [], False
    if rows:
        yield _sentence(at, rows, opens)
    if i and not n_tags and not settings.unlabelled:
        raise ValueError(Errors.L585.format(path=path, sought=_sought(layout, settings.columns.tag)))


def _sought(layout: _Layout, wanted: str) -> str:
    if not layout.keys:
        return f"a tag in the column {wanted}"
    return f"{' or '.join(f'{key}=' for key in layout.keys)} in MISC"


def _layout(path: Path, line: int, names: tuple[str, ...], wanted: str) -> _Layout:
    """Where tags stand: in the column of that name, else in MISC under it."""
    upper = [name.upper() for name in names]
    if "FORM" not in upper or not (wanted.upper() in upper or "MISC" in upper):
        problem = f"found the columns {', '.join(names) or 'none'}"
        raise bad_line(path, line, problem, COLUMNS_FIX)
    form = upper.index("FORM")
    if wanted.upper() in upper:
        return _Layout(len(names), form, upper.index(wanted.upper()), ())
    keys = (wanted.upper(),) if wanted else KEYS
    return _Layout(len(names), form, upper.index("MISC"), keys)


def _word(path: Path, line: int, row: str, layout: _Layout) -> tuple[str, str] | None:
    """A word and its tag; none for a range of words, or for an empty node."""
    cells = row.split("\t")
    if len(cells) != layout.width:
        problem = f"found {len(cells)} columns instead of {layout.width}"
        raise bad_line(path, line, problem, FIX)
    if not cells[0].isdecimal() and set(cells[0]) & set("-."):
        return None
    return cells[layout.form], layout.read(cells[layout.tag])


def _sentence(at: list[int], rows: list[tuple[str, str]], opens: bool) -> TaggedSentence:
    words, tags = zip(*rows, strict=True)
    return TaggedSentence(at, list(words), [tag or "O" for tag in tags], opens)
