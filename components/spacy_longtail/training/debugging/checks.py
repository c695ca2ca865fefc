"""A check of `debug`: a function that yields what it has to say, in a section."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Literal, NamedTuple, TypeVar

Level = Literal["info", "good", "warn", "fail"]
Said = Iterator[tuple[Level, str]]
Subject = TypeVar("Subject")


class Check(NamedTuple):
    level: Level
    section: str
    text: str


def check(
    section: str, good: str = ""
) -> Callable[[Callable[[Subject], Said]], Callable[[Subject], Iterator[Check]]]:
    """Make a function that yields levels and texts a check.

    section (str): Where its texts stand.
    good (str): What to say if it finds no fault; nothing if it is empty.
    """

    def decorated(function: Callable[[Subject], Said]) -> Callable[[Subject], Iterator[Check]]:
        @wraps(function)
        def checked(subject: Subject) -> Iterator[Check]:
            clean = True
            for level, text in function(subject):
                clean = clean and level in ("info", "good")
                yield Check(level, section, text)
            if clean and good:
                yield Check("good", section, good)

        return checked

    return decorated
