"""Which entities of two recognisers stay where they overlap."""

from collections.abc import Iterable
from typing import NamedTuple


class ScoredSpan(NamedTuple):
    start: int  # first token
    end: int  # one past the last token
    label: str
    score: float  # mean tag probability; inf for an entity nobody may replace
    weak: bool  # from the secondary


def merge_spans(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Accept spans by score, best first, where they overlap nothing accepted before.

    spans (Iterable[ScoredSpan]): The spans of both recognisers.
    RETURNS (List[ScoredSpan]): What stays, by position. Ties go to the secondary, then to the longer
        span, then to the earlier one.
    SOURCE: ours (METHODS section 8), in place of the token rule of Nguyen et al. 2020, eq. 8-9.
    """
    taken: set[int] = set()
    kept = []
    ranked = sorted(spans, key=lambda s: (-s.score, not s.weak, s.start - s.end, s.start))
    for span in ranked:
        tokens = range(span.start, span.end)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(span)
    return sorted(kept)
