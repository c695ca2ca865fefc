"""Descriptions by the words and letters that they share: needs nothing but the text."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from spacy.strings import get_string_id
from thinc.types import Floats2d

from ..layers.clusters import PathTable, read_clusters
from ..settings import seed_of, whole
from .base import unit_rows, words

LETTERS = (3, 4, 5)  # lengths of runs of letters
PREFIXES = (4, 6, 8, 10, 14)  # bits of a cluster's path


@dataclass(frozen=True)
class HashedDescriptions:
    """Random projections of a description's words, runs of letters and word clusters.

    Descriptions that share words are similar, and with clusters those of words that are used similarly.
    The same text has the same vector on every machine.

    width (int): Columns.
    seed (int): Of the projections.
    clusters (Optional[str]): As for longtail.RichEmbed.v1; null for none.
    lang (str): Of the texts, usually ${nlp.lang}: which table of "lookups" is read.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    RAISES (ValueError): L001; when called L402, L406, L260, L261, L269.
    """

    width: int = 300
    seed: int = 0
    clusters: str | None = None
    lang: str = "en"

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", whole("width", self.width, "300 is the default.", 1))
        object.__setattr__(self, "seed", seed_of(self.seed))

    @cached_property
    def _table(self) -> PathTable | None:
        return None if self.clusters is None else read_clusters(self.clusters, self.lang)

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width)."""
        return unit_rows(np.stack([self._vector(text) for text in texts]))

    def _vector(self, text: str) -> np.ndarray:
        total = np.zeros(self.width)
        for word in words(text.casefold()):
            features = [f"w {word}"]
            framed = f"<{word}>"
            features += [framed[i : i + n] for n in LETTERS for i in range(len(framed) - n + 1)]
            letters = np.sum([self._random(name) for name in features[1:]], axis=0)
            total += self._random(features[0]) + letters / max(len(features) - 1, 1) ** 0.5
            total += self._of_cluster(word)
        return total

    def _of_cluster(self, word: str) -> np.ndarray | float:
        if self._table is None:
            return 0.0
        row = int(self._table.find(np.array([get_string_id(word)], dtype="uint64"))[0])
        if row < 0:
            return 0.0
        path = int(self._table.paths[row])
        return np.sum([self._random(f"c {n} {path % (1 << n)}") for n in PREFIXES], axis=0)

    def _random(self, name: str) -> np.ndarray:
        seeds = [self.seed % 2**32, get_string_id(f"{name} ") % 2**63]
        return np.random.default_rng(seeds).standard_normal(self.width)
