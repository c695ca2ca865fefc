"""Rule by which types of a corpus are rare, and the sentence that says so to users.

This module has the one definition that commands, reports and benchmarks use. A limit in mentions
serves small corpora, where every type has little to learn from. A share of the most frequent type
serves large ones, where a hundred mentions among ten thousand are lost in the others.
"""

from collections.abc import Collection, Mapping

RARE_MENTIONS = 30  # a type with at most so many training mentions is rare in any corpus
RARE_SHARE = 0.1  # and so is one with at most this share of the most frequent type's mentions
AUTO_SHARE = 0.02  # of all mentions: the gate's default, since it needs types in few sentences
# "few mentions" is another notion: little evidence, however frequent the type is in its corpus
FEW_MENTIONS = 50


def rare_limit(mentions: Mapping[str, int]) -> float:
    """Return the largest number of training mentions that a rare type may have.

    mentions (Mapping[str, int]): Training mentions by type.
    """
    return max(RARE_MENTIONS, RARE_SHARE * max(mentions.values(), default=0))


def rare_types(mentions: Mapping[str, int], limit: float) -> list[str]:
    """Return the types with at least one mention and at most `limit`.

    RETURNS (List[str]): Most frequent first, then by name, whatever the order of counting.
    """
    return sorted((t for t, n in mentions.items() if 0 < n <= limit), key=lambda t: (-mentions[t], t))


def tail_types(
    mentions: Mapping[str, int], labels: Collection[str], max_mentions: int | None = None
) -> list[str]:
    """Return the rare types of the declared types of a corpus.

    A declared type without a training mention is rare, because it needs help most.

    mentions (Mapping[str, int]): Training mentions by type.
    labels (Collection[str]): The declared types.
    max_mentions (Optional[int]): The largest number of mentions of a rare type; null takes
        `rare_limit`.
    RETURNS (List[str]): Most frequent first, then by name; empty if no type is rare.
    """
    counts = {label: mentions.get(label, 0) for label in labels}
    limit = rare_limit(counts) if max_mentions is None else max_mentions
    return sorted((t for t, n in counts.items() if n <= limit), key=lambda t: (-counts[t], t))


def rare_sentence(tail: Collection[str], mentions: Mapping[str, int], labels: Collection[str]) -> str:
    """Say which types of a corpus are rare, with their training mentions, and by which rule.

    tail (Collection[str]): The rare types of types.json.
    mentions (Mapping[str, int]): Training mentions by type.
    labels (Collection[str]): The declared types.
    """
    limit = int(rare_limit({label: mentions.get(label, 0) for label in labels}))
    rule = f"at most {limit:,} training mentions"
    if limit > RARE_MENTIONS:
        rule = f"{rule}, {100 * RARE_SHARE:g} % of those of the most frequent type"
    if set(tail) != set(tail_types(mentions, labels)):
        rule = "the tail that was declared"
    shown = ", ".join(f"{label} {mentions.get(label, 0):,}" for label in tail)
    return f"Rare: {shown or 'no type'} ({rule})."
