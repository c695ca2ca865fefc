"""A check of `debug`: a function that yields what it has to say, in a section."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeVar

Level = Literal["info", "good", "warn", "fail"]
Results = Iterator[tuple[Level, str]]
Subject = TypeVar("Subject")


class Check(NamedTuple):
    level: Level
    section: str
    text: str


def run_check(
    function: Callable[[Subject], Results], section: str, good: str, subject: Subject
) -> Iterator[Check]:
    """What a function says of a subject.

    good (str): What to say if it finds no fault; nothing if it is empty.
    """
    clean = True
    for level, text in function(subject):
        clean = clean and level in ("info", "good")
        yield Check(level, section, text)
    if clean and good:
        yield Check("good", section, good)


def listed(names: Iterable[str]) -> str:
    """Names in order of the alphabet."""
    return ", ".join(sorted(names))
