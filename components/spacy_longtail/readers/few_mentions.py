"""A reader that leaves out sentences until a type has few mentions, for its learning curve."""

import random

import numpy as np
from thinc.types import Ints1d

from ..errors import Errors
from ..settings import whole
from .base import Reader, Unit
from .subsets import SIZE_FIX, Subset
from .unit_counts import UnitCounts


class FewMentionsCorpus(Subset):
    """All sentences of a corpus, but of those that hold one type only a seeded draw with few mentions.

    The sentences that hold the type are shuffled, and whole ones are taken as long as they have no more
    than N mentions of it together: of the same seed and partition a larger draw holds every smaller one.
    The others that hold the type are left out, not kept without the entity: what reads them as O would
    unlearn the type.

    corpus (Callable): The reader to draw from, nlp to examples, such as spacy.Corpus.v1.
    label (str): The type.
    n_mentions (int): Its mentions, at most.
    unit (str): "sentence" splits documents where sentence boundaries are annotated; "doc" keeps them.
    join (Optional[int]): Sentences that make one document; null takes the corpus's mean sentences per
        document, at most 10. 1 yields single sentences.
    partition (int): Number of the draw, so that one seed gives many.
    seed (int): Fixes all partitions.
    """

    def __init__(
        self,
        corpus: Reader,
        label: str,
        n_mentions: int,
        unit: Unit = "sentence",
        join: int | None = None,
        partition: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, unit, join, partition, seed)
        self.label = label
        self.n_mentions = whole("n_mentions", n_mentions, SIZE_FIX, low=1)

    def _draw(self, counts: UnitCounts, rng: random.Random) -> Ints1d:
        mentions = counts.mentions_of(self.label)
        if len(counts) and mentions.sum() < self.n_mentions:
            raise ValueError(
                Errors.L530.format(
                    label=self.label,
                    found=mentions.sum(),
                    wanted=self.n_mentions,
                    known=", ".join(counts.total.labels),
                )
            )
        kept = draw_mentions(mentions, self.n_mentions, rng)
        return np.concatenate([np.flatnonzero(mentions == 0), kept])


def draw_mentions(mentions: Ints1d, most: int, rng: random.Random) -> Ints1d:
    """Units with at most so many mentions together.

    mentions (Ints1d): (n_units,) of the type in each. most (int): The number of mentions.
    rng (Random): Decides which. RETURNS (Ints1d): Indices; a larger number of the same draw adds some.
    """
    own = np.flatnonzero(mentions).tolist()
    rng.shuffle(own)
    order = np.asarray(own, dtype="int64")
    return order[np.cumsum(mentions[order]) <= most]
