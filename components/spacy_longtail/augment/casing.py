"""Letters of a replacement follow what it replaces. Nothing is lower-cased."""

from collections.abc import Sequence
from typing import NamedTuple

ACRONYM = 4  # letters: USA and NATO are written in capitals anywhere


class Piece(NamedTuple):
    """A token of a replacement."""

    text: str
    space: bool = False  # whether a blank follows; the last piece takes what the replaced token had


def in_capitals(text: str) -> bool:
    """Whether a text is written in capitals, and too long for an acronym."""
    return text.isupper() and sum(map(str.isalpha, text)) > ACRONYM


def upper(new: Sequence[Piece]) -> list[Piece]:
    return [Piece(piece.text.upper(), piece.space) for piece in new]


def capitalised(new: Sequence[Piece], old: str) -> list[Piece]:
    """With an initial capital if the replaced text had one."""
    if not old[:1].isupper():
        return list(new)
    text = new[0].text
    return [Piece(text[:1].upper() + text[1:], new[0].space), *new[1:]]
