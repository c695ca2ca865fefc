"""JSON files: the records in one object per line, an array, or one or more indented objects."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .text import Place, head_of, lines, read_text, unreadable

ARRAY = re.compile(r'\s*\[(?!\s*")')  # a line with one pair starts with [ and a text
BLANK = re.compile(r"\s*")
FIX = "Write one JSON object per line, or one array of objects."
# keys of the list of records in the one object of a file: LightTag, BioC, Rasa
WRAPPERS = (("examples",), ("documents",), ("rasa_nlu_data", "common_examples"))

JsonObject = dict[str, Any]


def read_records(path: Path, encoding: str) -> Iterator[tuple[Place, JsonObject]]:
    """Yield each record and its place. An array or an indented object is read as a whole.

    A pair of a text and an object, which spaCy 2 was trained on, becomes an object with a 'text'.
    An object whose 'annotations' are such pairs, as NER Annotator writes for a whole file, becomes
    one record per pair. A null among them, a text without annotation, becomes an empty object. An
    object that only wraps a list of records, as LightTag and BioC write, becomes these.
    """
    for place, value in _values(path, encoding):
        records = _wrapped(value)
        if records is None:
            yield place, _object(value, place)
        else:
            for i, record in enumerate(records, 1):
                at = place._replace(record=i)
                yield at, _object(record, at)


def _values(path: Path, encoding: str) -> Iterator[tuple[Place, Any]]:
    """Yield the values of a file: items of its array, or objects, on a line each or on several."""
    if ARRAY.match(head_of(path, encoding)):
        for i, record in enumerate(_loaded(read_text(path, encoding), Place(path, 1)), 1):
            yield Place(path, 0, i), record
        return
    is_first = True
    for place, line in lines(path, encoding):
        if line.strip():
            if is_first and _opens_object(line):
                yield from _indented(read_text(path, encoding), path)
                return
            is_first = False
            yield place, _loaded(line, place)


def _opens_object(line: str) -> bool:
    """Return whether a line begins an object that ends on a later one."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.lstrip()[:1] == "{"
    return False


def _indented(text: str, path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield objects that take several lines each."""
    decoder, at = json.JSONDecoder(), BLANK.match(text).end()  # type: ignore[union-attr]
    line = counted = 0  # line breaks before, and the position up to which they are counted
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        place = Place(path, line + 1)
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise unreadable(place._replace(line=getattr(error, "lineno", 1)), error, FIX) from error
        at = BLANK.match(text, end).end()  # type: ignore[union-attr]
        if at < len(text) and "\n" not in text[end:at]:
            raise unreadable(place, "found more than one object on a line", FIX)
        yield place, value


def _wrapped(record: Any) -> list[Any] | None:
    """Return the records that an object wraps, or None if it is a record itself."""
    pairs = record.get("annotations") if isinstance(record, dict) else None
    if isinstance(pairs, list) and any(map(_is_pair, pairs)):
        return [{} if pair is None else pair for pair in pairs]
    for keys in WRAPPERS:
        inner = record
        for key in keys:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, list) and all(isinstance(item, dict) for item in inner):
            return inner
    return None


def _is_pair(record: Any) -> bool:
    return isinstance(record, list) and [type(part) for part in record] == [str, dict]


def _object(record: Any, place: Place) -> JsonObject:
    if _is_pair(record):
        return {**record[1], "text": record[0]}
    if not isinstance(record, dict):
        raise unreadable(place, f"found {str(record)[:60]!r} instead of an object", FIX)
    return record


def _loaded(text: str, place: Place) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = place._replace(line=place.line + getattr(error, "lineno", 1) - 1)
        raise unreadable(place, error, FIX) from error
