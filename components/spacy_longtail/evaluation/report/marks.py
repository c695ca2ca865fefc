"""Gold and predicted entities of a document, cut into sentences with marked errors."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..records import Document

LIMIT = 400  # sentences on a page: more than anyone reads, and still a page that opens at once

Place = tuple[int, int, str]


class Entity(NamedTuple):
    start: int  # characters of the document
    end: int
    label: str
    score: float | None
    is_gold: bool


class Segment(NamedTuple):
    text: str
    gold: bool
    predicted: bool


class Mark(NamedTuple):
    """Text with the gold and predicted entities that touch each other; plain text has no kinds."""

    segments: list[Segment]
    kinds: tuple[str, ...] = ()  # correct, missed or spurious; or type, boundary, both
    gold: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    score: float | None = None
    rare: bool = False
    # who found its gold entities, where there is a baseline: gained, lost, neither or both
    against: tuple[str, ...] = ()


class MarkedSentence(NamedTuple):
    title: str
    marks: list[Mark]

    @property
    def rare(self) -> bool:
        return any(mark.rare for mark in self.marks)

    @property
    def errors(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.kinds not in ((), ("correct",))]

    @property
    def gained(self) -> int:
        """Marks with something that ours found and the baseline did not."""
        return sum("gained" in mark.against for mark in self.marks)


def mark_documents(
    documents: list[Document], tail: list[str], baseline: Sequence[Document] = ()
) -> list[MarkedSentence]:
    """Every sentence with an error, a rare type, or something that the baseline did not find.

    The worst first: errors on rare types, then rare types found, then others. Among these come
    first the sentences with many errors, and those with errors of which the model was sure.

    documents (List[Document]): Of an evaluation.
    tail (List[str]): The rare types.
    baseline (Sequence[Document]): The same documents with the baseline's predictions, if any.
    RETURNS (List[MarkedSentence]): The sentences.
    """
    shown: list[MarkedSentence] = []
    for i, doc in enumerate(documents):
        other = {(a, b, label) for a, b, label, _ in baseline[i].predicted} if baseline else None
        sentences = _mark_sentences(doc, set(tail), other)
        shown += [own for own in sentences if own.errors or own.rare or own.gained]
    return sorted(shown, key=_severity, reverse=True)  # stable: in the order of the text among equals


def _severity(sentence: MarkedSentence) -> tuple[int, bool, int, float]:
    errors = sentence.errors
    surest = max((mark.score or 0.0 for mark in errors), default=0.0)
    n_rare = sum(mark.rare for mark in errors)
    return n_rare, sentence.rare, len(errors) + sentence.gained, surest


def _mark_sentences(
    doc: Document, tail: set[str], baseline: set[Place] | None
) -> Iterable[MarkedSentence]:
    text = doc.text
    for start, end, clusters in _by_sentence(doc, _clusters(doc)):
        marks, at = [], start
        for cluster in clusters:
            mark = _mark(text, cluster, tail, baseline)
            marks += [Mark([Segment(text[at : cluster[0].start], False, False)]), mark]
            at = _end(cluster)
        marks.append(Mark([Segment(text[at:end], False, False)]))
        yield MarkedSentence(str(doc.title or ""), [m for m in marks if m.segments[0].text])


def _clusters(doc: Document) -> list[list[Entity]]:
    """Entities of either side that overlap, together, in the order of the text."""
    both = [Entity(*row, None, True) for row in doc.gold]
    both += [Entity(*row, False) for row in doc.predicted]
    clusters: list[list[Entity]] = []
    for entity in sorted(both, key=lambda e: (e.start, e.end)):
        if entity.start == entity.end:
            continue  # gold that matches no token of the prediction has no place in the text
        if clusters and entity.start < _end(clusters[-1]):
            clusters[-1].append(entity)
        else:
            clusters.append([entity])
    return clusters


def _end(cluster: list[Entity]) -> int:
    return max(entity.end for entity in cluster)


def _by_sentence(
    doc: Document, clusters: list[list[Entity]]
) -> list[tuple[int, int, list[list[Entity]]]]:
    """Sentence bounds with what begins between them; an entity joins the sentences it crosses."""
    sentences: list[tuple[int, int, list[list[Entity]]]] = []
    length = len(doc.text)
    at = reach = 0  # the next cluster, and where the last one ends
    for start, end in sorted(doc.sentences) or [(0, length)]:
        inside: list[list[Entity]] = []
        if sentences and start < reach:
            start, _, inside = sentences.pop()
        while at < len(clusters) and clusters[at][0].start < end:
            if clusters[at][0].start >= start:
                inside.append(clusters[at])
                reach = _end(clusters[at])
            at += 1
        sentences.append((start, max(end, min(reach, length)), inside))
    return sentences


def _mark(text: str, cluster: list[Entity], tail: set[str], baseline: set[Place] | None) -> Mark:
    sides = [[e for e in cluster if e.is_gold is is_gold] for is_gold in (True, False)]
    gold, predicted = ({e[:3] for e in side} for side in sides)
    edges = sorted({edge for e in cluster for edge in (e.start, e.end)})
    segments = [
        Segment(text[a:b], *(any(e.start <= a < e.end for e in side) for side in sides))
        for a, b in pairwise(edges)
    ]
    kinds: tuple[str, ...]
    if not predicted:
        kinds = ("missed",)
    elif not gold:
        kinds = ("spurious",)
    else:
        is_type = {label for *_, label in gold} != {label for *_, label in predicted}
        is_boundary = {e[:2] for e in gold} != {e[:2] for e in predicted}
        kinds = ("type",) * is_type + ("boundary",) * is_boundary or ("correct",)
    labels = [tuple(e.label for e in side) for side in sides]
    score = min((e.score for e in sides[1] if e.score is not None), default=None)
    names = {(True, False): "gained", (False, True): "lost", (False, False): "neither"}
    against = {
        names.get((place in predicted, place in baseline), "both")
        for place in (gold if baseline is not None else ())
    }
    rare = not tail.isdisjoint(labels[0] + labels[1])
    return Mark(segments, kinds, *labels, score, rare, tuple(sorted(against)))
