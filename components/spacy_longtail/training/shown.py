"""What spaCy prints of a training whose folder takes another's place at the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import TextIOBase
from pathlib import Path
from typing import TextIO


class _Renamed(TextIOBase):
    """A stream in which one path stands for another."""

    def __init__(self, stream: TextIO, here: str, there: str) -> None:
        self.stream, self.here, self.there = stream, here, there

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    def isatty(self) -> bool:
        return self.stream.isatty()

    def flush(self) -> None:
        self.stream.flush()

    def write(self, text: str) -> int:
        self.stream.write(text.replace(self.here, self.there))
        return len(text)


@contextmanager
def shown_as(here: Path, there: Path) -> Iterator[None]:
    """Print one path in the place of another.

    here (Path): The folder that is written. there (Path): Where it will be, as the user named it.
    """
    with redirect_stdout(_Renamed(sys.stdout, str(here), str(there))):
        yield
