"""Sentences with marked gold and predicted entities, for the report."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..pairs import Mention, MentionPair, pair_mentions
from ..records import Document

LIMIT = 400  # sentences on a page, so that it opens quickly


class Mark(NamedTuple):
    """Marked mention, or plain text, which has no pair."""

    text: str
    pair: MentionPair = MentionPair(None, None)
    rare: bool = False
    found: str = ""  # predicted text if it differs from the marked one
    against: str = ""  # with a baseline, who found the mention: both, gained, lost or neither

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of error, or ["correct"]. Plain text has none."""
        return self.pair.kind.split("_and_") if any(self.pair) else []

    @property
    def labels(self) -> list[str]:
        """Return the gold type, then the predicted one if it differs."""
        return list(dict.fromkeys(mention.label for mention in self.pair if mention))

    @property
    def score(self) -> float | None:
        """Return the score of the prediction, in [0, 1]."""
        return self.pair.predicted.score if self.pair.predicted else None

    @property
    def tag(self) -> str:
        """Return the label that is shown beside the text."""
        wrong = [kind for kind in self.kinds if kind != "correct"]
        said = " and ".join(wrong) if wrong else "✓"
        if all(self.pair) and wrong:
            said = f"wrong {said}" + (f": “{self.found}”" if self.found else "")
        score = "" if self.score is None else f" {100 * self.score:.0f}"
        return f"{' → '.join(self.labels)} {said}{score}"


class MarkedSentence(NamedTuple):
    """Sentence as a sequence of marked mentions and plain text."""

    title: str
    marks: list[Mark]

    @property
    def rare(self) -> bool:
        """Return whether a mention of a rare type is marked."""
        return any(mark.rare for mark in self.marks)

    @property
    def errors(self) -> list[Mark]:
        """Return the marks with an error."""
        return [mark for mark in self.marks if mark.kinds not in ([], ["correct"])]

    @property
    def gained(self) -> int:
        """Return how many mentions our model found and the baseline did not."""
        return sum(mark.against == "gained" for mark in self.marks)

    @property
    def severity(self) -> tuple[int, bool, int, float]:
        """Return the sort key by which the worst sentences are the largest."""
        errors = self.errors
        surest = max((mark.score or 0.0 for mark in errors), default=0.0)
        return sum(mark.rare for mark in errors), self.rare, len(errors) + self.gained, surest


def mark_documents(
    documents: list[Document], tail: list[str], baseline: Sequence[Document] = ()
) -> list[MarkedSentence]:
    """Mark the sentences with an error, a rare type or a mention that the baseline did not find.

    Sentences with errors in rare types come first, then those with rare types, then all others.
    Within these groups, sentences with more errors come first, then those with higher scores of the
    wrong predictions.

    documents (List[Document]): Documents of an evaluation.
    tail (List[str]): The rare types.
    baseline (Sequence[Document]): The same documents with the baseline's predictions, if any.
    RETURNS (List[MarkedSentence]): The sentences, the worst first.
    """
    sentences = [
        sentence
        for i, doc in enumerate(documents)
        for sentence in _mark_sentences(doc, set(tail), baseline[i] if baseline else None)
        if sentence.errors or sentence.rare or sentence.gained
    ]
    # the sort is stable, so equal sentences stay in the order of the text
    return sorted(sentences, key=lambda sentence: sentence.severity, reverse=True)


def pairs_of(doc: Document) -> list[MentionPair]:
    """Pair gold and predicted mentions of a document, in character offsets."""
    predicted = [
        Mention(start, end, label, score=score)
        for start, end, label, score in sorted(doc.predicted, key=lambda row: row[:3])
    ]
    return pair_mentions([Mention(*row) for row in sorted(doc.gold)], predicted)


def _mark_sentences(doc: Document, tail: set[str], other: Document | None) -> Iterable[MarkedSentence]:
    theirs = None if other is None else {row[:3] for row in other.predicted}
    marks: list[tuple[int, int, Mark]] = []
    for pair in sorted(pairs_of(doc), key=place_of):
        start, end = place_of(pair)
        if start < end and (not marks or marks[-1][1] <= start):  # marks cannot overlap
            marks.append((start, end, _mark(doc.text, pair, tail, theirs)))
    starts, at = [start for start, _, _ in marks], 0
    for start, end in sorted(doc.sentences) or [(0, len(doc.text))]:
        inside = marks[bisect_left(starts, start) : bisect_left(starts, end)]
        end = max([end, *(stop for _, stop, _ in inside)])  # an entity may cross the boundary
        at, sentence = max(at, start), []
        for left, right, mark in inside:
            sentence += [Mark(doc.text[at:left]), mark]
            at = right
        sentence.append(Mark(doc.text[at:end]))
        at = end
        yield MarkedSentence(str(doc.title or ""), [mark for mark in sentence if mark.text])


def place_of(pair: MentionPair) -> tuple[int, int]:
    """Return start and end of the gold mention or, if there is none, of the prediction."""
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
    return Mark(
        text=text[start:end],
        pair=pair,
        rare=any(mention.label in tail for mention in pair if mention),
        found=predicted,
        against=against,
    )
