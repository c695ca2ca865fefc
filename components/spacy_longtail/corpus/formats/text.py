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
MARKS = {  # byte order marks, the longer ones first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


WEBANNO = "#FORMAT=WebAnno TSV"
LABEL_STUDIO = {"annotation_id", "lead_time"}  # among the columns of its CSV and TSV


def check_tool(path: Path, head: str) -> None:
    """Refuse tables of tools that have another form which can be read.

    head (str): The first line. RAISES (ValueError): L401.
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
    """line (int): From 1. record (int): In an array, from 1; 0 where a line holds no more than one."""
    return f"{line}, record {record}" if record else str(line)


def unzipped(path: Path) -> Path:
    """A file's path as its name tells the format: without .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP else path


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name ends in .gz."""
    return cast(BinaryIO, gzip.open(path)) if unzipped(path) != path else path.open("rb")


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Where a file is read that may be gzipped. RAISES (ValueError): L580."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(Errors.L580.format(path=path, problem=error)) from error


@contextmanager
def open_text(path: Path, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text file to read, gzipped or not. A byte order mark is skipped.

    encoding (str): Where it is UTF-8 and the file has the mark of UTF-16 or UTF-32, it is read as that.
    newline (Optional[str]): As in Python's open: null makes every line end a newline, "" leaves them.
    RAISES (ValueError): L402, L423 with the line, L580, L584.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the file there."))
    encoding = find_encoding(path, encoding)
    with _intact(path), io.TextIOWrapper(open_bytes(path), encoding, newline=newline) as file:
        try:
            yield file
        except UnicodeError as error:
            name, problem = encoding.removesuffix("-sig"), getattr(error, "reason", error)
            line = _bad_line(path, encoding)
            message = Errors.L423.format(path=path, line=line, encoding=name, problem=problem)
            raise ValueError(message) from error


def find_encoding(path: Path, encoding: str) -> str:
    """The encoding to read a file in: another than UTF-8 as it is, else what its first bytes say.

    RAISES (ValueError): L580, L584 for UTF-16 without its mark.
    """
    if codecs.lookup(encoding).name != "utf-8":
        return encoding
    with _intact(path), open_bytes(path) as file:
        head = file.read(4)
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    for name, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if zeros == b"\0\0":
            raise ValueError(Errors.L584.format(path=path, encoding=name))
    return "utf-8-sig"


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a file without their ends. RAISES (ValueError): L402, L423."""
    with open_text(path, encoding) as file:
        for line in file:
            yield line.rstrip("\n")


def read_text(path: Path, encoding: str, newline: str | None = None) -> str:
    """A whole file. RAISES (ValueError): L402, L423."""
    with open_text(path, encoding, newline) as file:
        return file.read()


def _bad_line(path: Path, encoding: str) -> int:
    """The line of the first byte that cannot be decoded: Python decodes blocks, not lines."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    line = 1
    with open_bytes(path) as file:
        while block := file.read(1 << 16):
            before = decoder.getstate()
            try:
                line += decoder.decode(block).count("\n")
                continue
            except UnicodeError:
                decoder.setstate(before)
            for i in range(len(block)):
                try:
                    line += decoder.decode(block[i : i + 1]).count("\n")
                except UnicodeError:
                    return line + (decoder.getstate()[1] & 1)  # a carriage return waits for a newline
    return line  # the file ends within a character
