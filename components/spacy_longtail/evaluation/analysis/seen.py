"""Mentions that training has with the same type, and those that it has not."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from .mentions import Pair
from .training import Surface


class Case(NamedTuple):
    """What is counted of a mention."""

    label: str
    is_seen: bool
    is_gold: bool
    is_right: bool


def seen_mentions(
    pairs: Iterable[Pair], surfaces: Collection[Surface], labels: Sequence[str]
) -> dict[str, Any]:
    """Scores of the mentions that training has with the same type, case aside, and of the others.

    pairs (Iterable[Pair]): Of all documents. surfaces (Collection[Surface]): Of training.
    labels (Sequence[str]): All types.
    RETURNS (Dict[str, Any]): JSON data: seen and unseen, each with recall and support, of gold mentions,
        precision and predicted, of predicted ones; per_type, the same by type. 0/0 is null.
    """
    counts: Counter[Case] = Counter()
    for pair in pairs:
        for is_gold, mention in ((True, pair.gold), (False, pair.predicted)):
            if mention is not None:
                is_seen, is_right = mention.surface in surfaces, pair.kind == "correct"
                counts[Case(mention.label, is_seen, is_gold, is_right)] += 1
    total = {"seen": _described(counts, labels, True), "unseen": _described(counts, labels, False)}
    per_type = {
        t: {"seen": _described(counts, [t], True), "unseen": _described(counts, [t], False)}
        for t in labels
    }
    return {**total, "per_type": per_type}


def _described(counts: Counter[Case], labels: Sequence[str], is_seen: bool) -> dict[str, Any]:
    def shares(is_gold: bool) -> tuple[float | None, int]:
        wrong, right = (
            sum(counts[Case(label, is_seen, is_gold, is_right)] for label in labels)
            for is_right in (False, True)
        )
        return (right / (right + wrong) if right + wrong else None), right + wrong

    recall, n_gold = shares(True)
    precision, n_predicted = shares(False)
    return {"recall": recall, "support": n_gold, "precision": precision, "predicted": n_predicted}
