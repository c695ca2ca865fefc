"""What labels cost: the sentences to label until there are so many more mentions of a type."""

from typing import NamedTuple


class Lift(NamedTuple):
    """How much richer in rare types the sentences are that a strategy chooses."""

    strategy: str
    factor: float  # the share of sentences with a rare type, over that of the pool
    spent: int  # labels that it was measured with
    pool: int  # sentences to choose from
    n_seeds: int


class Density(NamedTuple):
    """How a corpus holds a type."""

    mentions: int  # above 0
    sentences: int

    def sentences_for(self, more: float, lift: Lift | None = None) -> float:
        """How many sentences to label.

        more (float): Mentions. lift (Optional[Lift]): Of how they are chosen; null is by chance.
        """
        by_chance = max(more, 0.0) * self.sentences / self.mentions
        return by_chance if lift is None else by_chance / lift.factor
