"""Pairs of gold and predicted mentions of a document, and the kind of error of each pair."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Mention(NamedTuple):
    """Gold or predicted mention."""

    start: int  # first token or character
    end: int  # one past the last token or character
    label: str
    text: str = ""  # case-folded
    score: float | None = None  # of a prediction with a score


class MentionPair(NamedTuple):
    """Gold mention with its prediction, either of which may be missing."""

    gold: Mention | None
    predicted: Mention | None

    @property
    def kind(self) -> str:
        """Return "correct", "type", "boundary", "type_and_boundary", "missed" or "spurious"."""
        if self.gold is None:
            return "spurious"
        if self.predicted is None:
            return "missed"
        is_type = self.gold.label != self.predicted.label
        is_boundary = self.gold[:2] != self.predicted[:2]
        return "_and_".join(["type"] * is_type + ["boundary"] * is_boundary) or "correct"


def pair_mentions(gold: Sequence[Mention], predicted: Sequence[Mention]) -> list[MentionPair]:
    """Pair gold mentions of a document with overlapping predictions, each mention at most once.

    Candidates with equal boundaries are paired first, then those with the largest overlap. Ties go
    to candidates of the same type, then to the leftmost. The matching is greedy, so it may have
    fewer pairs than possible.

    The starts and ends of both lists must ascend, as those of `doc.ents` do; otherwise pairs may be
    missing. Equal ones are allowed, because two predictions on smaller tokens may be in the same
    gold token.

    gold (Sequence[Mention]): Gold mentions in the order of the text.
    predicted (Sequence[Mention]): Predicted mentions in the order of the text.
    RETURNS (List[MentionPair]): Pairs, then unpaired gold mentions, then unpaired predictions.
    """

    def rank(places: tuple[int, int]) -> tuple[bool, int, bool]:
        g, p = gold[places[0]], predicted[places[1]]
        n_shared = min(g.end, p.end) - max(g.start, p.start)
        return g[:2] != p[:2], -n_shared, g.label != p.label

    partner: dict[int, int] = {}  # index of the predicted mention by that of the gold one
    taken: set[int] = set()
    for i, j in sorted(_overlaps(gold, predicted), key=rank):
        if i not in partner and j not in taken:
            partner[i] = j
            taken.add(j)
    return [
        *(MentionPair(gold[i], predicted[j]) for i, j in sorted(partner.items())),
        *(MentionPair(mention, None) for i, mention in enumerate(gold) if i not in partner),
        *(MentionPair(None, mention) for j, mention in enumerate(predicted) if j not in taken),
    ]


def _overlaps(gold: Sequence[Mention], predicted: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Yield the indices of gold and predicted mentions that overlap, from left to right."""
    starts, ends = [p.start for p in predicted], [p.end for p in predicted]
    for i, g in enumerate(gold):
        # the ends of predictions ascend as their starts do
        for j in range(bisect_right(ends, g.start), bisect_left(starts, g.end)):
            yield i, j
