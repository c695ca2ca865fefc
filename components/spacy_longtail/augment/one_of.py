"""One of several augmenters at random."""

import random
from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..settings import seed_of


class OneOf:
    """Rewrite each example with one of several augmenters, chosen at random.

    augmenters (Callable): Augmenters, functions of nlp and an example to examples: at least one. In
        a config these are the blocks below `[corpora.train.augmenter.*]`.
    seed (int): Random seed of the choice. Each augmenter has another one for its own choices.
    RETURNS (Callable): The augmenter, a function of nlp and an example to examples.
    RAISES (ValueError): If there is no augmenter (L871).
    SOURCE: The combination of Dai & Adel 2020, which Wang & Wang 2022 compare with
        (docs/methods.md, "Augmentation").
    EXAMPLE:
        >>> from spacy_longtail.augment import MentionReplacement, OneOf, SegmentShuffle
        >>> mentions = MentionReplacement(lambda nlp: examples, level=1.0)
        >>> augment = OneOf(SegmentShuffle(level=1.0), mentions)
        >>> [eg.reference.text for eg in augment(nlp, examples[0])]
        ['Sandy came . ']
    """

    name = "longtail.one_of.v1"

    def __init__(
        self, *augmenters: Callable[[Language, Example], Iterator[Example]], seed: int = 0
    ) -> None:
        if not augmenters:
            raise ValueError(Errors.L871)
        self.augmenters = augmenters
        self.seed = seed_of(seed)
        self._rng = random.Random(f"{self.seed}/{self.name}")

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        """Yield the examples of the chosen augmenter."""
        yield from self._rng.choice(self.augmenters)(nlp, example)
