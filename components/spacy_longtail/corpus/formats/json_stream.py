"""JSON lines and JSON arrays, record by record."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from ...errors import Errors
from .context import Place
from .text import lines, open_text, read_text

HEAD = 1 << 10  # characters that tell an array from lines
ARRAY = re.compile(r'\[(?!\s*")')  # a pair on a line of its own begins with [ and a text
FIX = "Write one JSON object per line, or one array of objects."


def no_record(place: Place, problem: object, fix: str) -> ValueError:
    return ValueError(Errors.L426.format(place=place, problem=problem, fix=fix))


def read_records(path: Path, encoding: str) -> Iterator[tuple[Place, dict[str, object]]]:
    """Each record of a file and where it begins.

    A pair of a text and an object, which spaCy 2 was trained on, becomes an object with a 'text'. An
    object whose 'annotations' are such pairs, as NER Annotator writes for a whole file, becomes each of
    them; one of null, which nobody annotated, becomes an object without anything.
    """
    head = ""
    with open_text(path, encoding) as file:
        while head in ("", "[") and (block := file.read(HEAD)):
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
    """An array is read whole: what is too large for memory is to be written as lines."""
    try:
        found = json.loads(read_text(path, encoding))
    except json.JSONDecodeError as error:
        raise no_record(Place(path, error.lineno), error.msg, FIX) from error
    except (ValueError, RecursionError) as error:
        raise no_record(Place(path, 1), error, FIX) from error
    for i, record in enumerate(found, 1):
        yield Place(path, 0, i), record
