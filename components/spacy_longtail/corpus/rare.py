"""Which types are rare: the rules, by training mentions, and the sentence that says them.

`TAIL` is the rule of corpora, reports and commands; a `tail` that a corpus declares goes before it. The
gate's "auto" has limits of its own, since it needs types that stand in few sentences.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

AUTO_SHARE = 0.02  # of all mentions: the gate's default
# "few mentions" is another notion: little evidence, however frequent the type is in its corpus
FEW_MENTIONS = 50


class RareRule(NamedTuple):
    """Types with at most so many mentions as the highest of some limits, of which one is set at least.

    of_most (Optional[float]): A share of the mentions of the most frequent type.
    of_all (Optional[float]): A share of the mentions of all types.
    at_most (Optional[int]): Mentions.
    or_third (bool): Whether the rarest third of the types, or one, is rare where no other is.
    """

    of_most: float | None = None
    of_all: float | None = None
    at_most: int | None = None
    or_third: bool = False

    def limit(self, mentions: Mapping[str, int]) -> float:
        """The most mentions that a rare type has. mentions (Mapping[str, int]): By type."""
        of_most = (self.of_most or 0.0) * max(mentions.values(), default=0)
        return max(of_most, (self.of_all or 0.0) * sum(mentions.values()), self.at_most or 0)

    def types(self, mentions: Mapping[str, int]) -> list[str]:
        """The rare types, of those with a mention.

        RETURNS (List[str]): Most frequent first, of equals by name: whoever counts finds the same types.
        """
        limit = self.limit(mentions)
        ranked = sorted(filter(mentions.get, mentions), key=lambda t: (-mentions[t], t))
        rare = [t for t in ranked if mentions[t] <= limit]
        if rare or not self.or_third:
            return rare
        return ranked[-max(1, len(ranked) // 3) :]

    def __str__(self) -> str:
        limits = []
        if self.of_most is not None:
            limits.append(f"{100 * self.of_most:g} % of the training mentions of the most frequent type")
        if self.of_all is not None:
            limits.append(f"{100 * self.of_all:g} % of all training mentions")
        if self.at_most is not None:
            limits.append(f"{self.at_most} training mentions")
        return f"at most {' or '.join(limits)}"

    def applied(self, mentions: Mapping[str, int]) -> str:
        """Which part of the rule chose the rare types. mentions (Mapping[str, int]): By type."""
        if self.or_third and not self._replace(or_third=False).types(mentions):
            return f"the rarest third; no type has {self}"
        return str(self)


TAIL = RareRule(of_most=0.1, or_third=True)


def rare_sentence(tail: Collection[str], mentions: Mapping[str, int]) -> str:
    """Which types of a corpus are rare, and why.

    tail (Collection[str]): The rare types of types.json. mentions (Mapping[str, int]): In training.
    """
    is_rule = set(tail) == set(TAIL.types(mentions))
    why = TAIL.applied(mentions) if is_rule else "the tail that was declared"
    return f"Rare: {', '.join(tail) or 'no type'} ({why})."
