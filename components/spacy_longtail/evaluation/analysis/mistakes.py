"""What kinds of mistakes are made: matches by looser rules, confused types, misplaced boundaries."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from spacy.scorer import PRFScore

from .mentions import DocMentions, Mention, Pair, pair_mentions

OUTSIDE = "O"
KINDS = ("correct", "type", "boundary", "type_and_boundary", "missed", "spurious")
SIDES = {-1: "early", 0: "right", 1: "late"}
SIZES = ("too_long", "too_short", "shifted")


def matching(docs: Iterable[DocMentions], pairs: Iterable[Pair]) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 by three rules.

    docs (Iterable[DocMentions]): The documents' mentions. pairs (Iterable[Pair]): Of the same.
    RETURNS (Dict[str, Dict[str, float]]): JSON data: strict; boundaries, where the type may be wrong;
        partial, where of the same type a shared token is enough.
    """
    kinds = Counter(pair.kind for pair in pairs)
    n_gold, n_predicted = (kinds.total() - kinds[missing] for missing in ("spurious", "missed"))
    n_strict, n_bounds = kinds["correct"], kinds["correct"] + kinds["type"]
    n_partial = sum(1 for doc in docs for own in _by_type(doc) for _ in _both(pair_mentions(own)))
    counts = {"strict": n_strict, "boundaries": n_bounds, "partial": n_partial}
    return {rule: _described(n, n_predicted, n_gold) for rule, n in counts.items()}


def _described(n_right: int, n_predicted: int, n_gold: int) -> dict[str, float]:
    score = PRFScore(tp=n_right, fp=n_predicted - n_right, fn=n_gold - n_right)
    return {**score.to_dict(), "right": n_right, "predicted": n_predicted, "gold": n_gold}


def _by_type(doc: DocMentions) -> Iterable[DocMentions]:
    for label in {m.label for m in doc.gold} & {m.label for m in doc.predicted}:
        yield DocMentions(*([m for m in side if m.label == label] for side in doc))


def _both(pairs: Iterable[Pair]) -> Iterable[tuple[Mention, Mention]]:
    """The pairs that have two mentions."""
    for gold, predicted in pairs:
        if gold is not None and predicted is not None:
            yield gold, predicted


def confusion(pairs: Iterable[Pair], labels: Sequence[str]) -> dict[str, Any]:
    """How often each gold type is predicted as each type, whatever the boundaries.

    pairs (Iterable[Pair]): Of all documents. labels (Sequence[str]): All types.
    RETURNS (Dict[str, Any]): JSON data: labels, with O as the last; counts, a row a gold type.
    """
    names = [*labels, OUTSIDE]
    place = {label: i for i, label in enumerate(labels)}
    counts = [[0] * len(names) for _ in names]
    for gold, predicted in pairs:
        row, column = (-1 if m is None else place[m.label] for m in (gold, predicted))
        counts[row][column] += 1
    return {"labels": names, "counts": counts}


def error_kinds(pairs: Iterable[Pair], labels: Sequence[str]) -> dict[str, Any]:
    """How many mentions are right, and in what way the others are wrong.

    pairs (Iterable[Pair]): Of all documents. labels (Sequence[str]): All types.
    RETURNS (Dict[str, Any]): JSON data: a count a kind; per_type, the same by gold type, or by predicted
        type where nothing is there.
    """
    per_type = {label: dict.fromkeys(KINDS, 0) for label in labels}
    for pair in pairs:
        mention = pair.gold or pair.predicted
        if mention is not None:
            per_type[mention.label][pair.kind] += 1
    total = {kind: sum(own[kind] for own in per_type.values()) for kind in KINDS}
    return {**total, "per_type": per_type}


def boundaries(pairs: Iterable[Pair]) -> dict[str, Any]:
    """Where mentions of the right type begin and end wrongly.

    pairs (Iterable[Pair]): Of all documents.
    RETURNS (Dict[str, Any]): JSON data: start and end, each early, right or late; too_long and
        too_short, where one mention lies in the other; shifted, where both ends moved one way.
    """
    starts: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for gold, predicted in _both(pair for pair in pairs if pair.kind == "boundary"):
        start, end = _sign(predicted.start - gold.start), _sign(predicted.end - gold.end)
        starts[SIDES[start]] += 1
        ends[SIDES[end]] += 1
        sizes["shifted" if start == end else "too_long" if end > start else "too_short"] += 1
    return {
        "start": {side: starts[side] for side in SIDES.values()},
        "end": {side: ends[side] for side in SIDES.values()},
        **{size: sizes[size] for size in SIZES},
    }


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)
