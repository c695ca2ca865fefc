"""What is derived from a parser's actions: their columns, and the class weight of each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from spacy.training import remove_bilu_prefix
from thinc.types import Floats1d


class Actions:
    """Derived when first asked for, and again when there are more: labels can be added in training.

    Where a pipe's actions are replaced by as many others, make a new one.
    """

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._weights: np.ndarray | None = None

    def columns(self, moves: Any) -> dict[str, int]:
        """The column of each action, such as "O" or "B-PER".

        moves (TransitionSystem): The parser's actions.
        """
        if len(self._columns) != moves.n_moves:
            names = (moves.get_class_name(i) for i in range(moves.n_moves))
            self._columns = {name: i for i, name in enumerate(names)}
        return self._columns

    def weights(self, moves: Any, by_class: Mapping[str, float]) -> Floats1d:
        """The class weight of each action. (n_moves,)

        moves (TransitionSystem): The parser's actions.
        by_class (Mapping[str, float]): Weights of entity types and of O.
        """
        if self._weights is None or len(self._weights) != moves.n_moves:
            names = (remove_bilu_prefix(n) if "-" in n else n for n in self.columns(moves))
            self._weights = np.asarray([by_class.get(name, 1.0) for name in names], dtype="float32")
        return self._weights
