"""Which types are rare, by training mentions, and the sentence that says so."""

from collections.abc import Collection, Mapping

TAIL_SHARE = 0.1  # of the mentions of the most frequent type: a corpus's tail, unless it declares one
AUTO_SHARE = 0.02  # of all mentions: the gate's default, since it needs types in few sentences
# "few mentions" is another notion: little evidence, however frequent the type is in its corpus
FEW_MENTIONS = 50


def tail_limit(mentions: Mapping[str, int]) -> float:
    """The most mentions that a type of the tail has. mentions (Mapping[str, int]): By type."""
    return TAIL_SHARE * max(mentions.values(), default=0)


def rare_types(mentions: Mapping[str, int], limit: float) -> list[str]:
    """The types with a mention and at most so many.

    RETURNS (List[str]): Most frequent first, of equals by name: whoever counts finds the same.
    """
    return sorted((t for t, n in mentions.items() if 0 < n <= limit), key=lambda t: (-mentions[t], t))


def tail_types(mentions: Mapping[str, int]) -> list[str]:
    """The tail: at most a tenth of the most frequent type, else the rarest third, or one type."""
    ranked = rare_types(mentions, float("inf"))
    return rare_types(mentions, tail_limit(mentions)) or ranked[-max(1, len(ranked) // 3) :]


def rare_sentence(tail: Collection[str], mentions: Mapping[str, int]) -> str:
    """Which types of a corpus are rare, and why.

    tail (Collection[str]): The rare types of types.json. mentions (Mapping[str, int]): In training.
    """
    limit = f"at most {100 * TAIL_SHARE:g} % of the training mentions of the most frequent type"
    if set(tail) != set(tail_types(mentions)):
        why = "the tail that was declared"
    elif rare_types(mentions, tail_limit(mentions)):
        why = limit
    else:
        why = f"the rarest third; no type has {limit}"
    return f"Rare: {', '.join(tail) or 'no type'} ({why})."
