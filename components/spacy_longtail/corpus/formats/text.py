"""Text files line by line, in any encoding; invalid bytes are named by file and line."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ...errors import Errors


def bad_line(path: Path, line: int, problem: str, fix: str) -> ValueError:
    """L401, to be raised."""
    return ValueError(Errors.L401.format(path=path, line=line, problem=problem, fix=fix))


@contextmanager
def open_text(path: Path, encoding: str, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text file to read. A byte order mark is skipped in UTF-8.

    newline (Optional[str]): As in Python's open: null makes every line end a newline, "" leaves them.
    RAISES (ValueError): L402, L423 with the line.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the file there."))
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    with path.open(encoding=encoding, newline=newline) as file:
        try:
            yield file
        except UnicodeError as error:
            name, problem = encoding.removesuffix("-sig"), getattr(error, "reason", error)
            line = _bad_line(path, encoding)
            message = Errors.L423.format(path=path, line=line, encoding=name, problem=problem)
            raise ValueError(message) from error


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
    with path.open("rb") as file:
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
