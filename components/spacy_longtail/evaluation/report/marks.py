"""Gold and predicted entities of a document, cut into sentences with marked errors."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..records import Document
from .examples import Place, right_places

AGAINST = ("gained", "lost", "neither", "both")  # of a gold entity: who found it, ours or the baseline
LIMIT = 400  # sentences on a page: more than anyone reads, and still a page that opens at once


class Entity(NamedTuple):
    start: int  # characters of the document
    end: int
    label: str
    score: float | None = None


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
    against: tuple[str, ...] = ()  # of AGAINST, where there is a baseline


class MarkedSentence(NamedTuple):
    title: str
    marks: list[Mark]
    rare: bool

    @property
    def errors(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.kinds not in ((), ("correct",))]

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors)

    @property
    def gained(self) -> int:
        """Marks with something that ours found and the baseline did not."""
        return sum("gained" in mark.against for mark in self.marks)


class MarkedCorpus(NamedTuple):
    sentences: list[MarkedSentence]  # the worst first
    n_left_out: int
    kinds: Counter[str]  # marks of each kind in the whole test part


def mark_documents(
    documents: list[Document],
    tail: list[str],
    limit: int = LIMIT,
    *,
    errors_only: bool = False,
    baseline: Sequence[Document] = (),
) -> MarkedCorpus:
    """Every sentence with an error, a rare type, or something that the baseline did not find.

    The worst first, that is: errors on rare types, then rare types found, then others; the more errors
    and finds that the baseline lacks, and the surer the model was of its errors, the earlier.

    documents (List[Document]): Of an evaluation.
    tail (List[str]): The rare types.
    limit (int): Most sentences to keep.
    errors_only (bool): Leave out the sentences in which all is right.
    baseline (Sequence[Document]): The same documents with the baseline's predictions, if there is one.
    RETURNS (MarkedCorpus): The sentences, and how many were left out.
    """
    kinds: Counter[str] = Counter()
    shown: list[MarkedSentence] = []
    for i, doc in enumerate(documents):
        other = right_places(baseline[i]) if baseline else None
        for sentence in _mark_sentences(doc, set(tail), other):
            kinds.update(kind for mark in sentence.marks for kind in mark.kinds)
            if sentence.is_wrong or ((sentence.rare or sentence.gained) and not errors_only):
                shown.append(sentence)
    shown.sort(key=_severity, reverse=True)  # stable: in the order of the text among equals
    return MarkedCorpus(shown[:limit], max(len(shown) - limit, 0), kinds)


def _severity(sentence: MarkedSentence) -> tuple[int, bool, int, float]:
    wrong = sentence.errors
    surest = max((mark.score or 0.0 for mark in wrong), default=0.0)
    return sum(mark.rare for mark in wrong), sentence.rare, len(wrong) + sentence.gained, surest


def _mark_sentences(
    doc: Document, tail: set[str], baseline: set[Place] | None
) -> Iterable[MarkedSentence]:
    text = doc.text
    # a gold entity that matches no token of the prediction has no place in the text: (0, 0)
    gold = [Entity(*row) for row in doc.gold if row[0] < row[1]]
    predicted = [Entity(*row) for row in doc.predicted if row[0] < row[1]]
    for start, end, clusters in _by_sentence(doc.sentences, _clusters(gold, predicted), len(text)):
        marks, at = [], start
        for cluster in clusters:
            marks.append(Mark([Segment(text[at : cluster[0]], False, False)]))
            mark = _mark(text, *cluster, tail)
            marks.append(mark if baseline is None else _held_against(mark, cluster, baseline))
            at = cluster[1]
        marks.append(Mark([Segment(text[at:end], False, False)]))
        rare = any(mark.rare for mark in marks)
        yield MarkedSentence(str(doc.title or ""), [m for m in marks if m.segments[0].text], rare)


Cluster = tuple[int, int, list[Entity], list[Entity]]  # start, end, gold, predicted


def _clusters(gold: list[Entity], predicted: list[Entity]) -> list[Cluster]:
    """Entities of either side that overlap, together, in the order of the text."""
    found: list[Cluster] = []
    both = [(e, 0) for e in gold] + [(e, 1) for e in predicted]
    for entity, side in sorted(both, key=lambda pair: (pair[0].start, pair[0].end)):
        if found and entity.start < found[-1][1]:
            start, end, old_gold, old_predicted = found.pop()
        else:
            start, end, old_gold, old_predicted = entity.start, entity.end, [], []
        (old_predicted if side else old_gold).append(entity)
        found.append((start, max(end, entity.end), old_gold, old_predicted))
    return found


def _by_sentence(
    sentences: list[tuple[int, int]], clusters: list[Cluster], length: int
) -> list[tuple[int, int, list[Cluster]]]:
    """Sentence bounds with what begins between them; those that an entity crosses are one sentence."""
    found: list[tuple[int, int, list[Cluster]]] = []
    at = reach = 0  # the next cluster, and where the last one ends
    for start, end in sorted(sentences) or [(0, length)]:
        own: list[Cluster] = []
        if found and start < reach:
            start, _, own = found.pop()
        while at < len(clusters) and clusters[at][0] < end:
            if clusters[at][0] >= start:
                own.append(clusters[at])
                reach = clusters[at][1]
            at += 1
        found.append((start, max(end, min(reach, length)), own))
    return found


def _mark(
    text: str, start: int, end: int, gold: list[Entity], predicted: list[Entity], tail: set[str]
) -> Mark:
    cuts = sorted({edge for e in gold + predicted for edge in (e.start, e.end)})
    segments = [Segment(text[a:b], _covers(gold, a), _covers(predicted, a)) for a, b in pairwise(cuts)]
    kinds: tuple[str, ...]
    if not predicted:
        kinds = ("missed",)
    elif not gold:
        kinds = ("spurious",)
    else:
        same_type = {e.label for e in gold} == {e.label for e in predicted}
        same_place = {e[:2] for e in gold} == {e[:2] for e in predicted}
        wrong = (("type", not same_type), ("boundary", not same_place))
        kinds = tuple(kind for kind, is_wrong in wrong if is_wrong) or ("correct",)
    labels = tuple(e.label for e in gold), tuple(e.label for e in predicted)
    scores = [e.score for e in predicted if e.score is not None]
    rare = not tail.isdisjoint(labels[0] + labels[1])
    return Mark(segments, kinds, *labels, min(scores, default=None), rare)


def _held_against(mark: Mark, cluster: Cluster, baseline: set[Place]) -> Mark:
    """A mark with who found its gold entities."""
    *_, gold, predicted = cluster
    ours = {e[:3] for e in predicted}
    who = {(True, False): "gained", (False, True): "lost", (False, False): "neither"}
    found = {who.get((e[:3] in ours, e[:3] in baseline), "both") for e in gold}
    return mark._replace(against=tuple(name for name in AGAINST if name in found))


def _covers(entities: list[Entity], place: int) -> bool:
    return any(e.start <= place < e.end for e in entities)
