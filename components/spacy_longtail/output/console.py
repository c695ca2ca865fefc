"""Output of commands: amounts and tables as text, also for consoles that lack some characters."""

import codecs
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TextIO, TypeVar, cast

from tqdm import tqdm
from wasabi import table


def number(n: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 sentence" or "2,000 sentences".

    n (float): The number.
    noun (str): The noun in the singular.
    plural (str): The noun in the plural. By default with an s.
    """
    shown = f"{n:,}" if isinstance(n, int) else f"{n:g}"
    return f"{shown} {noun if n == 1 else plural or f'{noun}s'}"


def verb(n: int, word: str) -> str:
    """Return a verb in the third person that agrees with a number: 1 "stands", 2 "stand"."""
    return word if n != 1 else {"have": "has", "are": "is"}.get(word, f"{word}s")


def percent(score: float | None) -> str:
    """Format a score in [0, 1] in points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Format points with a sign, which is a typographic minus. 0.0 has no sign."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def p_value(p: float, sign: str = "") -> str:
    """Return a p value in words: three decimals below 0.1, else two, and "< 0.001".

    p (float): The p value.
    sign (str): Sign before the number, such as "= ", unless it is below 0.001.
    """
    return "< 0.001" if p < 0.001 else f"{sign}{p:.{3 if p < 0.1 else 2}f}"


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]], aligns: str = "") -> str:
    """Return a table with a line below its head.

    head (Sequence[str]): Headings of the columns.
    rows (Sequence[Sequence[object]]): Cells of each row.
    aligns (str): "l" or "r" for each column. By default the first column is aligned left and all
        others right.
    RETURNS (str): The table.
    """
    widest = max(len(str(cell)) for row in (head, *rows) for cell in row)  # wasabi cuts cells at 30
    sides = cast(tuple[Literal["l", "r"], ...], tuple(aligns or "l" + "r" * (len(head) - 1)))
    return table(rows, header=head, divider=True, max_col=widest, aligns=sides)


DELAY = 2.0  # seconds before a progress bar appears
PLAIN = "longtail_plain"  # name of the error handler
SIGNS = {  # replacements; any other character becomes an escape such as \u65e5
    "−": "-",
    "–": "-",
    "…": "...",
    "✔": "[+]",
    "✘": "[x]",
    "⚠": "[!]",
    "ℹ": "[i]",  # symbol of an information
    "─": "-",
    "│": "|",
    "█": "#",
    "▏": "",
}

Item = TypeVar("Item")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return plain text for characters that a console lacks, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    escaped = (c.encode("ascii", "backslashreplace").decode("ascii") for c in lacking)
    return "".join(SIGNS.get(c, plain) for c, plain in zip(lacking, escaped, strict=True)), error.end


codecs.register_error(PLAIN, _plain)


@contextmanager
def any_console() -> Iterator[None]:
    """Replace characters that a console lacks, so that they do not end a command with an error.

    Streams with an error handler of the user's choice, such as that of
    PYTHONIOENCODING=cp1252:replace, are not changed.
    """
    streams = [s for s in (sys.stdout, sys.stderr) if isinstance(s, io.TextIOWrapper)]
    changed = {
        stream: stream.errors for stream in streams if stream.errors in ("strict", "surrogateescape")
    }
    for stream in changed:
        stream.reconfigure(errors=PLAIN)
    try:
        yield
    finally:
        for stream, errors in changed.items():
            if not stream.closed:
                stream.reconfigure(errors=errors)


class WithoutText:
    """Stream that skips every write with a certain text, and passes on everything else.

    stream (TextIO): The stream to which the rest is written.
    text (str): The text.
    """

    def __init__(self, stream: TextIO, text: str) -> None:
        self.stream, self.text = stream, text

    def write(self, written: str) -> int:
        """Write a text, unless it is to be skipped, and return its length."""
        return len(written) if self.text in written else self.stream.write(written)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream."""
        return getattr(self.stream, name)


def progress(items: Iterable[Item], name: str, unit: str = "it") -> Iterable[Item]:
    """Return items with a progress bar, which only terminals show, and only if work takes long.

    items (Iterable[Item]): The items to work on.
    name (str): Name of the items, shown before the bar.
    unit (str): Unit of the rate that is shown.
    """
    return tqdm(items, name, unit=unit, delay=DELAY, disable=None, leave=False)


def echo(text: str, err: bool = False) -> None:
    """Print a line in the encoding of the console. `typer.echo` always writes UTF-8.

    text (str): The line.
    err (bool): Whether to print on stderr.
    """
    (sys.stderr if err else sys.stdout).write(f"{text}\n")
