"""Text files in any encoding, gzipped or not, and places in them that errors name."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast

from ...errors import Errors

GZIP = ".gz"
LABEL_STUDIO = {"annotation_id", "lead_time"}  # among the columns of its CSV and TSV
ENCODING = "Name the file's encoding, as --encoding cp1252 for files of older Windows programs."


class Place(NamedTuple):
    """Where something stands in the source."""

    path: Path
    line: int  # from 1; 0 in an array of records
    record: int = 0  # from 1, in an array of records

    @property
    def within(self) -> str:
        """The place in its file."""
        line, record = str(self.line), f"record {self.record}"
        return ", ".join([line] * (self.line > 0) + [record] * (self.record > 0))

    def __str__(self) -> str:
        return f"{self.path}:{self.within}"


def unreadable(place: Place, problem: object, fix: str) -> ValueError:
    """L401, to be raised: what stands at a place cannot be read."""
    shown = {"path": place.path, "line": place.within, "problem": problem, "fix": fix}
    return ValueError(Errors.L401.format(**shown))


def check_tool(place: Place, head: str) -> None:
    """Refuse tables of tools that have another form which can be read. head (str): The first line."""
    tool = form = ""
    if head.startswith("#FORMAT=WebAnno TSV"):
        tool, form = "WebAnno or INCEpTION", "CoNLL 2002 or CoNLL-U"
    elif {cell.strip().strip('"') for cell in re.split("[\t;,]", head)} >= LABEL_STUDIO:
        tool, form = "Label Studio", "JSON or JSON-MIN"
    if tool:
        problem = f"this is a table of {tool}, which has no token and tag on each line"
        raise unreadable(place, problem, f"In {tool}, export {form}.")


def unzipped(path: Path) -> Path:
    """A file's path as its name tells the format: without .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP else path


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path)) if unzipped(path) != path else path.open("rb")


@contextmanager
def open_text(path: Path, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text file to read, gzipped or not. A byte order mark of UTF-8 is skipped.

    encoding (str): As Python knows it.
    newline (Optional[str]): As in Python's open: null makes every line end a newline, "" leaves them.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the file there."))
    name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        with io.TextIOWrapper(_open(path), name, newline=newline) as file:
            try:
                yield file
            except UnicodeError as error:
                problem = f"this is not {encoding}: {getattr(error, 'reason', error)}"
                raise unreadable(Place(path, _bad_line(path, name)), problem, ENCODING) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problem = f"this is not an intact gzip file: {error}"
        raise unreadable(Place(path, 1), problem, "Copy it again, or unpack it yourself.") from error


def _bad_line(path: Path, encoding: str) -> int:
    """The line of the first byte that cannot be decoded: Python decodes blocks, not lines."""
    with _open(path) as file:
        data = file.read()
    try:
        data.decode(encoding)
    except UnicodeError as error:
        data = data[: getattr(error, "start", 0)]
    text = io.StringIO(data.decode(encoding, "ignore"), newline=None).read()
    return text.count("\n") + 1


def head_of(path: Path, encoding: str, size: int = 4096) -> str:
    """What can be read of the first bytes of a file."""
    try:
        with _open(path) as file:
            return file.read(size).decode(encoding, "ignore").lstrip("\ufeff")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return ""  # whoever reads it whole raises


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file without their ends."""
    with open_text(path, encoding) as file:
        for line in file:
            yield line.rstrip("\n")


def read_text(path: Path, encoding: str, newline: str | None = None) -> str:
    """A whole file."""
    with open_text(path, encoding, newline) as file:
        return file.read()
