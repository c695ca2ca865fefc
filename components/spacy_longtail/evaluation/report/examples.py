"""Mentions that one of two models found and the other did not, in their sentences."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..records import Document

SHOWN = 3  # of each side
AROUND = 110  # characters of a sentence that are shown on each side of the mention

Place = tuple[int, int, str]


class Example(NamedTuple):
    """A gold mention, and what the model that erred made of it."""

    before: str
    mention: str
    after: str
    label: str
    rare: bool
    instead: str  # "" if it found nothing there


class Differences(NamedTuple):
    gained: list[Example]  # that ours found, and the baseline did not
    lost: list[Example]  # the other way round
    n_gained: int
    n_lost: int
    rare_gained: int  # of the former
    rare_lost: int


def differences(
    ours: Sequence[Document], baseline: Sequence[Document], tail: Sequence[str], n: int = SHOWN
) -> Differences:
    """Where two models differ: rare types first, each mention once, types in turn, short sentences.

    ours (Sequence[Document]): With predictions. baseline (Sequence[Document]): The same documents.
    tail (Sequence[str]): The rare types. n (int): Most examples of each side.
    RETURNS (Differences): Examples, and how many such mentions there are.
    """
    gained: list[tuple[Document, Document, Place]] = []
    lost: list[tuple[Document, Document, Place]] = []
    for own, other in zip(ours, baseline, strict=True):
        first, second = (right_places(document) for document in (own, other))
        gained += [(own, other, place) for place in sorted(first - second)]
        lost += [(other, own, place) for place in sorted(second - first)]
    rare_gained, rare_lost = (
        sum(label in tail for *_, (_, _, label) in side) for side in (gained, lost)
    )
    first, second = (_choose(side, set(tail), n) for side in (gained, lost))
    return Differences(first, second, len(gained), len(lost), rare_gained, rare_lost)


def right_places(document: Document) -> set[Place]:
    """The gold mentions that were found, place and type."""
    found = {(start, end, label) for start, end, label, _ in document.predicted}
    return found.intersection(gold for gold in document.gold if gold[0] < gold[1])


def _choose(found: Sequence[tuple[Document, Document, Place]], tail: set[str], n: int) -> list[Example]:
    ranked = sorted(found, key=lambda item: (item[2][2] not in tail, _length(item[0], item[2])))
    seen: Counter[str] = Counter()  # labels, and mentions
    turns = []
    for right, _, (start, end, label) in ranked:
        mention = f"{label} {right.text[start:end].casefold()}"
        turns.append((label not in tail, seen[mention], seen[label]))
        seen.update((label, mention))
    order = sorted(range(len(ranked)), key=lambda i: turns[i])  # stable: one of each type, then another
    return [_example(*ranked[i], tail) for i in order[:n]]


def _length(document: Document, place: Place) -> int:
    start, end = _bounds(document, place)
    return end - start


def _bounds(document: Document, place: Place) -> tuple[int, int]:
    """Of the sentence that a mention begins in, and of the mention where it goes on behind it."""
    around = [(a, b) for a, b in document.sentences if a <= place[0] < b]
    start, end = around[0] if around else (0, len(document.text))
    return start, max(end, place[1])


def _example(right: Document, wrong: Document, place: Place, tail: set[str]) -> Example:
    start, end, label = place
    left, stop = _bounds(right, place)
    text = right.text
    before, after = text[left:start], text[end:stop]
    if len(before) > AROUND:
        near = before[-AROUND:]
        before = f"… {near.partition(' ')[2] or near}"
    if len(after) > AROUND:
        near = after[:AROUND]
        after = f"{near.rpartition(' ')[0] or near} …"
    instead = [f"{name} “{text[a:b]}”" for a, b, name, _ in wrong.predicted if a < end and start < b]
    return Example(before, text[start:end], after, label, label in tail, " + ".join(instead))
