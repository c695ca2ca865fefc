"""A check of `debug`: a function that yields what it has to say, in a section; what checks share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from spacy.language import Language
from spacy.training import Example
from spacy.util import resolve_dot_names
from thinc.api import Config

from ...corpus.statistics.records import Statistics

N_READ = 100  # examples, since a reader may be endless

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


@dataclass(frozen=True)
class BuiltConfig:
    """A config that builds, and the corpus it is for."""

    path: Path
    given: Config  # with overrides, not interpolated
    nlp: Language
    found: Statistics  # of the corpus

    @cached_property
    def config(self) -> Config:
        """Filled and interpolated."""
        return self.nlp.config.interpolate()

    @property
    def training(self) -> Config:
        return self.config["training"]

    def reader(self, kind: str) -> Callable[[Language], Iterator[Example]]:
        """What reads train_corpus or dev_corpus."""
        return resolve_dot_names(self.config, [self.training[kind]])[0]


def listed(names: Iterable[str]) -> str:
    """Names in order of the alphabet."""
    return ", ".join(sorted(names))
