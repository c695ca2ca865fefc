"""JSON lines and JSON arrays record by record, however long the file is.

The library `ijson` streams arrays too. It is not used because conversion works in the light install,
which has spaCy alone, and because errors name the line of the record, which it does not tell.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeGuard

from ...errors import Errors
from .context import Place
from .text import lines, open_text

CHUNK = 1 << 20  # characters read at a time
GAP = re.compile(r"[ \t\r\n]*")
ARRAY = re.compile(r'\[(?!\s*")')  # a pair on a line of its own begins with [ and a text
FIX = "Write one JSON object per line, or one array of objects."


def no_record(place: Place, problem: object, fix: str) -> ValueError:
    return ValueError(Errors.L426.format(place=place, problem=problem, fix=fix))


def read_records(path: Path, encoding: str) -> Iterator[tuple[Place, dict[str, object]]]:
    """Each record of a file and where it begins.

    A pair of a text and an object, which spaCy 2 was trained on, becomes an object with a 'text'. An
    object whose 'annotations' are such pairs, as NER Annotator writes for a whole file, becomes each of
    them; one of null, which nobody annotated, becomes an object without anything.

    RAISES (ValueError): L402, L423, L426, L580, L584.
    """
    head = ""
    with open_text(path, encoding) as file:
        while head in ("", "[") and (block := file.read(CHUNK)):
            head += block.lstrip()
    is_array = ARRAY.match(head) is not None
    for place, record in _array(path, encoding) if is_array else _lines(path, encoding):
        pairs = record.get("annotations") if isinstance(record, dict) else None
        if isinstance(pairs, list) and any(map(_is_pair, pairs)):
            for i, pair in enumerate(pairs, 1):
                own = place._replace(record=i)
                yield own, {} if pair is None else _object(pair, own)
        else:
            yield place, _object(record, place)


def _is_pair(found: object) -> TypeGuard[list[Any]]:
    return isinstance(found, list) and [type(part) for part in found] == [str, dict]


def _object(record: object, place: Place) -> dict[str, object]:
    if _is_pair(record):
        text, about = record
        return {**about, "text": text}
    if not isinstance(record, dict):
        raise no_record(place, f"found {str(record)[:60]!r} instead of an object", FIX)
    return record


def _lines(path: Path, encoding: str) -> Iterator[tuple[Place, object]]:
    for i, line in enumerate(lines(path, encoding), 1):
        if line.strip():
            try:
                yield Place(path, i), json.loads(line)
            except (ValueError, RecursionError) as error:
                raise no_record(Place(path, i), error, FIX) from error


def _array(path: Path, encoding: str) -> Iterator[tuple[Place, object]]:
    with open_text(path, encoding) as file:
        window = _Window(path, file)
        window.take("[")
        closed = window.peek() == "]" and window.take("]")
        while not closed:
            yield window.place, window.value()
            closed = window.take(",]") == "]"
            window.place = window.place._replace(record=window.place.record + 1)
            window.peek()  # on to the line of the next record
        if found := window.peek():
            raise no_record(window.place, f"found {found!r} after the array", FIX)


class _Window:
    """The part of a file that is being parsed, and the line it begins on."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.place = Place(path, 1, 1)
        self.file = file
        self.buffer = ""
        self.at = 0
        self.decode = json.JSONDecoder().raw_decode

    def peek(self) -> str:
        """The next character that is not white space, empty at the end of the file."""
        while True:
            gap = GAP.match(self.buffer, self.at)
            self._move(gap.end() if gap else self.at)
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            self.buffer, self.at = self.file.read(CHUNK), 0
            if not self.buffer:
                return ""

    def take(self, expected: str) -> str:
        found = self.peek()
        if not found or found not in expected:
            problem = f"found {found or 'the end of the file'!r} instead of {' or '.join(expected)}"
            raise no_record(self.place, problem, FIX)
        self._move(self.at + 1)
        return found

    def value(self) -> object:
        self.peek()
        while True:
            try:
                value, end = self.decode(self.buffer, self.at)
            except (ValueError, RecursionError) as error:
                more = self.file.read(max(CHUNK, len(self.buffer)))  # perhaps it continues there
                if not more:
                    raise no_record(self.place, error, FIX) from error
                self.buffer, self.at = self.buffer[self.at :] + more, 0
                continue
            self._move(end)
            return value

    def _move(self, at: int) -> None:
        n_lines = self.buffer.count("\n", self.at, at)
        self.place, self.at = self.place._replace(line=self.place.line + n_lines), at
