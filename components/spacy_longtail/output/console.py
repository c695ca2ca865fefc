"""Output on consoles that lack some characters: Windows code pages, ASCII, C locales."""

import codecs
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

from tqdm import tqdm

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
