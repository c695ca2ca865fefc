"""Sentences with their gold and predicted entities marked, the worst first."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..pairs import Mention, MentionPair, pair_mentions
from ..records import Document

LIMIT = 400  # sentences on a page: more than anyone reads, and still a page that opens at once


class Mark(NamedTuple):
    """A stretch of text; plain text has no pair."""

    text: str
    pair: MentionPair = MentionPair(None, None)
    rare: bool = False
    found: str = ""  # the predicted text, where it is not the marked one
    against: str = ""  # who found the gold mention, where there is a baseline

    @property
    def kinds(self) -> list[str]:
        return self.pair.kind.split("_and_") if any(self.pair) else []

    @property
    def labels(self) -> list[str]:
        """Gold, then predicted, each once."""
        return list(dict.fromkeys(mention.label for mention in self.pair if mention))

    @property
    def score(self) -> float | None:
        return self.pair.predicted.score if self.pair.predicted else None

    @property
    def tag(self) -> str:
        """What stands beside the text."""
        wrong = [kind for kind in self.kinds if kind != "correct"]
        said = " and ".join(wrong) if wrong else "✓"
        if all(self.pair) and wrong:
            said = f"wrong {said}" + (f": “{self.found}”" if self.found else "")
        score = "" if self.score is None else f" {100 * self.score:.0f}"
        return f"{' → '.join(self.labels)} {said}{score}"


class MarkedSentence(NamedTuple):
    title: str
    marks: list[Mark]

    @property
    def rare(self) -> bool:
        return any(mark.rare for mark in self.marks)

    @property
    def errors(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.kinds not in ([], ["correct"])]

    @property
    def gained(self) -> int:
        """Marks with something that ours found and the baseline did not."""
        return sum(mark.against == "gained" for mark in self.marks)

    @property
    def severity(self) -> tuple[int, bool, int, float]:
        """By which the worst sentences come first."""
        errors = self.errors
        surest = max((mark.score or 0.0 for mark in errors), default=0.0)
        return sum(mark.rare for mark in errors), self.rare, len(errors) + self.gained, surest


def mark_documents(
    documents: list[Document], tail: list[str], baseline: Sequence[Document] = ()
) -> list[MarkedSentence]:
    """Every sentence with an error, a rare type, or something that the baseline did not find.

    The worst first: errors on rare types, then rare types found, then others. Among these come
    first the sentences with many errors, and those with errors of which the model was sure.

    documents (List[Document]): Of an evaluation. tail (List[str]): The rare types.
    baseline (Sequence[Document]): The same documents with the baseline's predictions, if any.
    RETURNS (List[MarkedSentence]): The sentences.
    """
    sentences = [
        sentence
        for i, doc in enumerate(documents)
        for sentence in _mark_sentences(doc, set(tail), baseline[i] if baseline else None)
        if sentence.errors or sentence.rare or sentence.gained
    ]
    # stable: in the order of the text among equals
    return sorted(sentences, key=lambda sentence: sentence.severity, reverse=True)


def pairs_of(doc: Document) -> list[MentionPair]:
    """Gold and predicted mentions of a document, which are places in its characters."""
    rows = sorted(doc.predicted, key=lambda row: row[:3])
    predicted = [Mention(start, end, label, "", score) for start, end, label, score in rows]
    return pair_mentions([Mention(*row) for row in sorted(doc.gold)], predicted)


def _mark_sentences(doc: Document, tail: set[str], other: Document | None) -> Iterable[MarkedSentence]:
    theirs = None if other is None else {row[:3] for row in other.predicted}
    marks: list[tuple[int, int, Mark]] = []
    for pair in sorted(pairs_of(doc), key=place_of):
        start, end = place_of(pair)
        if start < end and (not marks or marks[-1][1] <= start):  # one that overlaps is not shown
            marks.append((start, end, _mark(doc.text, pair, tail, theirs)))
    starts, at = [start for start, _, _ in marks], 0
    for start, end in sorted(doc.sentences) or [(0, len(doc.text))]:
        inside = marks[bisect_left(starts, start) : bisect_left(starts, end)]
        end = max([end, *(stop for _, stop, _ in inside)])  # of an entity that crosses the bound
        at, sentence = max(at, start), []
        for left, right, mark in inside:
            sentence += [Mark(doc.text[at:left]), mark]
            at = right
        sentence.append(Mark(doc.text[at:end]))
        at = end
        yield MarkedSentence(str(doc.title or ""), [mark for mark in sentence if mark.text])


def place_of(pair: MentionPair) -> tuple[int, int]:
    mention = pair.gold or pair.predicted
    return mention[:2] if mention else (0, 0)


def _mark(
    text: str, pair: MentionPair, tail: set[str], theirs: set[tuple[int, int, str]] | None
) -> Mark:
    start, end = place_of(pair)
    predicted = text[slice(*pair.predicted[:2])] if "boundary" in pair.kind and pair.predicted else ""
    against = ""
    if theirs is not None and pair.gold:
        by_ours, by_theirs = pair.kind == "correct", pair.gold[:3] in theirs
        against = {(1, 1): "both", (1, 0): "gained", (0, 1): "lost"}.get((by_ours, by_theirs), "neither")
    rare = any(mention.label in tail for mention in pair if mention)
    return Mark(text[start:end], pair, rare, predicted, against)
