"""A config that is tried on a corpus, and what its checks share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from spacy.language import Language
from spacy.training import Example
from spacy.util import resolve_dot_names
from thinc.api import Config

from ...corpus.statistics.records import Statistics

N_READ = 100  # examples, since a reader may be endless


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
