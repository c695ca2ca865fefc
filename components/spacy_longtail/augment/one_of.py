"""One of several augmenters at random."""

import random
from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.training import Example

from ..settings import seed_of


class OneOf:
    """Give each example to one of several augmenters, drawn evenly.

    augmenters (Callable): The augmenters, nlp and example to examples; in a config the blocks below
        `[corpora.train.augmenter.*]`.
    seed (int): Fixes which augmenter is drawn; each has a seed of its own for the rest.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    SOURCE: The combination of Dai & Adel 2020, which Wang & Wang 2022 compare with.
    """

    name = "longtail.one_of.v1"

    def __init__(
        self, *augmenters: Callable[[Language, Example], Iterator[Example]], seed: int = 0
    ) -> None:
        self.augmenters = augmenters
        self.seed = seed_of(seed)
        self._rng = random.Random(f"{self.seed}/{self.name}")

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        """What the drawn augmenter yields."""
        yield from self._rng.choice(self.augmenters)(nlp, example)
