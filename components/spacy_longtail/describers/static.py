"""Descriptions by vectors of their subwords."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thinc.types import Floats2d

from ..layers.subwords import SubwordTable, read_subwords
from .base import LoadedLater, unit_rows, words


@dataclass(frozen=True)
class SubwordDescriptions(LoadedLater):
    """The mean of the subword vectors of a description.

    source (str): An encoder such as "en_longtail_cnn", or the folder of one.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    source: str

    @cached_property
    def _loaded(self) -> SubwordTable:
        return read_subwords(self.source)

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the vectors)."""
        return unit_rows(self._loaded.means(subwords_of_texts(self._loaded, texts)))

    def of_pipeline(self, folder: Path) -> "SubwordDescriptions":
        """The same, by the vectors in the folder of a pipeline whose encoder has them."""
        path = folder / "config.cfg"
        embed = f"subwords = {json.dumps(self.source)}"
        is_there = path.is_file() and embed in path.read_text(encoding="utf8")
        return SubwordDescriptions(str(folder)) if is_there else self


def subwords_of_texts(table: SubwordTable, texts: list[str]) -> list[list[int]]:
    """The subwords of descriptions, as rows of a table."""
    return [[row for rows in table.cut(words(text)) for row in rows] for text in texts]
