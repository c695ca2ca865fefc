"""Offsets in UTF-16 units, as JavaScript counts, and in characters, as Python does.

They differ behind characters above U+FFFF, such as emoji, of which each is two units.
"""

import re
from pathlib import Path

from .text import lines

UTF16 = "utf-16"
UNITS = ("characters", UTF16)
OFFSETS = "offsets"  # what a record may say of its own
WIDE = re.compile(r"[\U00010000-\U0010ffff]|\\u[dD][89abAB]")  # as it is, or as JSON escapes it
EDGE = re.compile(r"(?<!\w)|(?!\w)")  # where a word may begin or end


def to_utf16(text: str, offset: int) -> int:
    """offset (int): In characters. RETURNS (int): In UTF-16 units."""
    return offset + sum(character > "\uffff" for character in text[:offset])


def from_utf16(text: str) -> list[int]:
    """The offset in characters for each offset in UTF-16 units, from 0 to the end of the text."""
    return [i for i, c in enumerate(text) for _ in range(1 + (c > "\uffff"))] + [len(text)]


def has_wide(path: Path, encoding: str) -> bool:
    """Whether a text file, which may escape them as JSON does, has characters above U+FFFF."""
    return any(WIDE.search(line) for line in lines(path, encoding))


def fits(text: str, start: object, end: object, quote: str | None) -> bool:
    """Whether a span covers what it quotes; without a quote, whether it begins and ends with a word.

    start, end (object): In characters.
    """
    if not (type(start) is int and type(end) is int and 0 <= start < end <= len(text)):
        return False
    inner = text[start:end]
    if quote is not None:
        return same_text(quote, inner)
    return inner == inner.strip() and all(EDGE.match(text, at) for at in (start, end))


def same_text(quote: str, covered: str) -> bool:
    """Whether a quote is of this text, white space aside, which tools fold."""
    said = (quote, quote.replace("\\n", " "))  # some tools write a line end as two characters
    return "".join(covered.split()) in ("".join(text.split()) for text in said)
