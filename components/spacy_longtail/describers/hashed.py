"""Descriptions by the words and letters that they share: needs nothing but the text."""

import numpy as np
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass
from spacy.strings import get_string_id
from thinc.types import Floats2d

from ..settings import CHECKED
from .base import Describer, unit_rows, words

LETTERS = (3, 4, 5)  # lengths of runs of letters


@dataclass(frozen=True, config=CHECKED)
class HashedDescriptions(Describer):
    """Random projections of a description's words and runs of letters.

    Descriptions that share words are similar. The same text has the same vector on every machine.

    width (int): Number of columns.
    seed (int): Random seed of the projections.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    width: PositiveInt = 300
    seed: int = 0

    def __call__(self, texts: list[str]) -> Floats2d:
        """Return one row per description, shape (n_texts, width)."""
        rows = np.zeros((len(texts), self.width))
        for row, text in zip(rows, texts, strict=True):
            for word in words(text.casefold()):
                framed = f"<{word}>"
                runs = [framed[i : i + n] for n in LETTERS for i in range(len(framed) - n + 1)]
                letters = np.sum([self._random(run) for run in runs], axis=0)
                row += self._random(f"w {word}") + letters / max(len(runs), 1) ** 0.5
        return unit_rows(rows)

    def _random(self, name: str) -> np.ndarray:
        seeds = [self.seed % 2**32, get_string_id(f"{name} ") % 2**63]
        return np.random.default_rng(seeds).standard_normal(self.width)
