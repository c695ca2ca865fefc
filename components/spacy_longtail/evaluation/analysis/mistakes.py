"""What kinds of mistakes are made: matches by looser rules, confused types, misplaced boundaries."""

from collections import Counter
from collections.abc import Iterable, Sequence

from spacy.scorer import PRFScore

from .mentions import DocMentions, Mention, Pair, pair_mentions
from .records import Boundaries, Confusion, ErrorKinds, Errors, Match, Matching, Side

OUTSIDE = "O"
SIDES = {-1: "early", 0: "right", 1: "late"}


def matching(docs: Iterable[DocMentions], pairs: Iterable[Pair]) -> Matching:
    """Precision, recall and F1 by three rules.

    docs (Iterable[DocMentions]): The documents' mentions. pairs (Iterable[Pair]): Of the same.
    """
    kinds = Counter(pair.kind for pair in pairs)
    n_gold, n_predicted = (kinds.total() - kinds[missing] for missing in ("spurious", "missed"))
    n_strict, n_bounds = kinds["correct"], kinds["correct"] + kinds["type"]
    n_partial = sum(1 for doc in docs for own in _by_type(doc) for _ in _both(pair_mentions(own)))
    strict, bounds, partial = (_match(n, n_predicted, n_gold) for n in (n_strict, n_bounds, n_partial))
    return Matching(strict=strict, boundaries=bounds, partial=partial)


def _match(n_right: int, n_predicted: int, n_gold: int) -> Match:
    score = PRFScore(tp=n_right, fp=n_predicted - n_right, fn=n_gold - n_right)
    return Match(**score.to_dict(), right=n_right, predicted=n_predicted, gold=n_gold)


def _by_type(doc: DocMentions) -> Iterable[DocMentions]:
    for label in {m.label for m in doc.gold} & {m.label for m in doc.predicted}:
        yield DocMentions(*([m for m in side if m.label == label] for side in doc))


def _both(pairs: Iterable[Pair]) -> Iterable[tuple[Mention, Mention]]:
    """The pairs that have two mentions."""
    for gold, predicted in pairs:
        if gold is not None and predicted is not None:
            yield gold, predicted


def confusion(pairs: Iterable[Pair], labels: Sequence[str]) -> Confusion:
    """How often each gold type is predicted as each type, whatever the boundaries.

    pairs (Iterable[Pair]): Of all documents. labels (Sequence[str]): All types.
    """
    names = [*labels, OUTSIDE]
    place = {label: i for i, label in enumerate(labels)}
    counts = [[0] * len(names) for _ in names]
    for gold, predicted in pairs:
        row, column = (-1 if m is None else place[m.label] for m in (gold, predicted))
        counts[row][column] += 1
    return Confusion(labels=names, counts=counts)


def error_kinds(pairs: Iterable[Pair], labels: Sequence[str]) -> Errors:
    """How many mentions are right, and in what way the others are wrong.

    pairs (Iterable[Pair]): Of all documents. labels (Sequence[str]): All types.
    """
    kinds = list(ErrorKinds.model_fields)
    per_type = {label: dict.fromkeys(kinds, 0) for label in labels}
    for pair in pairs:
        mention = pair.gold or pair.predicted
        if mention is not None:
            per_type[mention.label][pair.kind] += 1
    total = {kind: sum(own[kind] for own in per_type.values()) for kind in kinds}
    return Errors(**total, per_type={label: ErrorKinds(**own) for label, own in per_type.items()})


def boundaries(pairs: Iterable[Pair]) -> Boundaries:
    """Where mentions of the right type begin and end wrongly.

    pairs (Iterable[Pair]): Of all documents.
    """
    starts: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for gold, predicted in _both(pair for pair in pairs if pair.kind == "boundary"):
        start, end = _sign(predicted.start - gold.start), _sign(predicted.end - gold.end)
        starts[SIDES[start]] += 1
        ends[SIDES[end]] += 1
        sizes["shifted" if start == end else "too_long" if end > start else "too_short"] += 1
    return Boundaries(
        start=Side(**{side: starts[side] for side in SIDES.values()}),
        end=Side(**{side: ends[side] for side in SIDES.values()}),
        too_long=sizes["too_long"],
        too_short=sizes["too_short"],
        shifted=sizes["shifted"],
    )


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)
