"""Column files: a token and its tag on each line, a blank line after each sentence."""

from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc

from .context import Context, Settings
from .tagged import TaggedSentence, tagged_docs
from .text import bad_line, check_tool, lines

MARK = "-DOCSTART-"
FIX = "Write token TAB tag."


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences between -DOCSTART- lines."""
    yield from tagged_docs(path, _sentences(path, context.settings), context, FIX)


def _sentences(path: Path, settings: Settings) -> Iterator[TaggedSentence]:
    rows: list[str] = []
    opens, i = False, 0
    for i, line in enumerate(lines(path, settings.encoding), 1):
        if i == 1:
            check_tool(path, line)
        mark = line.startswith(MARK)
        if not mark and line and not line.isspace():
            rows.append(line)
            continue
        if rows:
            yield _sentence(path, i - len(rows), rows, settings, opens)
            rows, opens = [], False
        opens = opens or mark
    if rows:
        yield _sentence(path, i + 1 - len(rows), rows, settings, opens)


def _sentence(
    path: Path, first: int, rows: list[str], settings: Settings, opens: bool
) -> TaggedSentence:
    table = [row.split("\t") if "\t" in row else _blank_separated(row) for row in rows]
    width = len(table[0])
    if width < 2 or set(map(len, table)) != {width}:
        raise _uneven(path, first, rows, table)
    for name in ("token_column", "tag_column"):
        wanted = getattr(settings, name)
        if not -width <= wanted < width:
            problem = f"there are {width} columns, but --{name.replace('_', '-')} is {wanted}"
            raise bad_line(path, first, problem, "Columns count from 0, or from -1 backwards.")
    words = [cells[settings.token_column] for cells in table]
    tags = [cells[settings.tag_column].strip() for cells in table]
    return TaggedSentence(range(first, first + len(rows)), words, tags, opens)


def _blank_separated(row: str) -> list[str]:
    """Other white space, as a no-break space, is part of a token."""
    return [cell for cell in row.split(" ") if cell]


def _uneven(path: Path, first: int, rows: list[str], table: list[list[str]]) -> ValueError:
    width = len(table[0])
    i = next(i for i, cells in enumerate(table) if len(cells) < 2 or len(cells) != width)
    if len(table[i]) < 2:
        return bad_line(path, first + i, f"expected a token and a tag, found {rows[i][:60]!r}", FIX)
    problem = f"found {len(table[i])} columns where the line before has {width}"
    return bad_line(path, first + i, problem, "Give all lines of a sentence as many columns.")
