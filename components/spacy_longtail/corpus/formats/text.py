"""Text files line by line, in any encoding, gzipped or not; invalid bytes are named by file and line."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from ...errors import Errors

GZIP = ".gz"
WEBANNO = "#FORMAT=WebAnno TSV"
LABEL_STUDIO = {"annotation_id", "lead_time"}  # among the columns of its CSV and TSV


def check_tool(path: Path, head: str) -> None:
    """Refuse tables of tools that have another form which can be read.

    head (str): The first line.
    """
    tool = form = ""
    if head.startswith(WEBANNO):
        tool, form = "WebAnno or INCEpTION", "CoNLL 2002 or CoNLL-U"
    elif {cell.strip().strip('"') for cell in re.split("[\t;,]", head)} >= LABEL_STUDIO:
        tool, form = "Label Studio", "JSON or JSON-MIN"
    if tool:
        problem = f"this is a table of {tool}, which has no token and tag on each line"
        raise bad_line(path, 1, problem, f"In {tool}, export {form}.")


def bad_line(path: Path, line: int, problem: str, fix: str, record: int = 0) -> ValueError:
    """L401, to be raised."""
    place = place_text(line, record)
    return ValueError(Errors.L401.format(path=path, line=place, problem=problem, fix=fix))


def place_text(line: int, record: int = 0) -> str:
    """line (int): From 1; 0 where it is not known. record (int): In an array, from 1; else 0."""
    known = [str(line)] * (line > 0) + [f"record {record}"] * (record > 0)
    return ", ".join(known)


def unzipped(path: Path) -> Path:
    """A file's path as its name tells the format: without .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP else path


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name ends in .gz."""
    return cast(BinaryIO, gzip.open(path)) if unzipped(path) != path else path.open("rb")


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Where a file is read that may be gzipped."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(Errors.L580.format(path=path, problem=error)) from error


@contextmanager
def open_text(path: Path, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text file to read, gzipped or not. A byte order mark is skipped.

    encoding (str): As Python knows it.
    newline (Optional[str]): As in Python's open: null makes every line end a newline, "" leaves them.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the file there."))
    encoding = _skipping_mark(encoding)
    with _intact(path), io.TextIOWrapper(open_bytes(path), encoding, newline=newline) as file:
        try:
            yield file
        except UnicodeError as error:
            name, problem = encoding.removesuffix("-sig"), getattr(error, "reason", error)
            line = _bad_line(path, encoding)
            message = Errors.L423.format(path=path, line=line, encoding=name, problem=problem)
            raise ValueError(message) from error


def _skipping_mark(encoding: str) -> str:
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def head_of(path: Path, encoding: str, size: int) -> str:
    """What can be read of the first bytes of a file."""
    with _intact(path), open_bytes(path) as file:
        return file.read(size).decode(_skipping_mark(encoding), "ignore")


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file without their ends."""
    with open_text(path, encoding) as file:
        for line in file:
            yield line.rstrip("\n")


def read_text(path: Path, encoding: str, newline: str | None = None) -> str:
    """A whole file."""
    with open_text(path, encoding, newline) as file:
        return file.read()


def _bad_line(path: Path, encoding: str) -> int:
    """The line of the first byte that cannot be decoded: Python decodes blocks, not lines."""
    with open_bytes(path) as file:
        data = file.read()
    try:
        data.decode(encoding)
    except UnicodeError as error:
        data = data[: getattr(error, "start", 0)]
    text = data.decode(encoding, "ignore").replace("\r\n", "\n").replace("\r", "\n")
    return text.count("\n") + 1
