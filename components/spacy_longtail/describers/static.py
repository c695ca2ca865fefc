"""Descriptions by vectors of their subwords."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from thinc.api import Model
from thinc.types import Floats2d

from ..encoders import META, located
from ..layers.subwords import NAME, SubwordTable, read_subwords
from .base import Describer, unit_rows, words


@dataclass
class SubwordDescriptions(Describer):
    """The mean of the subword vectors of a description.

    The vectors are saved with the component, unless an encoder of the pipeline has them.

    source (str): An encoder such as "en_longtail_cnn", or the folder of one.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    source: str
    _own: SubwordTable | None = field(default=None, init=False, repr=False, compare=False)
    _layers: tuple[Model, ...] = field(default=(), init=False, repr=False, compare=False)

    def __call__(self, texts: list[str]) -> Floats2d:
        """Return one row per description, as wide as the subword vectors."""
        table = self._shared or self._read()
        return unit_rows(table.means(subwords_of_texts(table, texts)))

    def share(self, layers: Iterable[Model]) -> None:
        """Use the subword vectors of the pipeline's encoder, if they come from the same source."""
        subword_layers = (layer for layer in layers if layer.name == NAME)
        found = tuple(layer for layer in subword_layers if layer.attrs["source"] == self.source)
        self._layers = found or self._layers

    def to_bytes(self) -> bytes:
        """Return the vectors; nothing if an encoder of the pipeline has them. Warn if none has."""
        if self._shared:
            return b""
        if self._own is None and not (located(self.source) / META).is_file():
            self.warn_without_data(self.source)
            return b""
        return self._read().to_bytes()

    def from_bytes(self, data: bytes) -> None:
        """Take over vectors; without data, those of the pipeline or of the source are used."""
        self._own = SubwordTable.from_bytes(data) if data else self._own

    @property
    def _shared(self) -> SubwordTable | None:
        tables: Iterable[SubwordTable] = (layer.attrs["subwords"] for layer in self._layers)
        return next((table for table in tables if table.n_columns), None)

    def _read(self) -> SubwordTable:
        if self._own is None:
            self._own = read_subwords(self.source)
        return self._own


def subwords_of_texts(table: SubwordTable, texts: list[str]) -> list[list[int]]:
    """Return the subwords of each description, as rows of a table."""
    return [[row for rows in table.cut(words(text)) for row in rows] for text in texts]
