"""Gazetteer of training data: the names that have one type wherever they occur."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.counts import OUTSIDE
from ..corpus.names import matcher_of
from ..types import ANNOTATED_TYPES

Words = tuple[str, ...]
OTHER = ""  # instead of a type, where a name occurs but is not annotated as just that name


class Reliability(NamedTuple):
    """How often a gazetteer of all other documents is right about a name in a document."""

    right: int
    n: int

    @property
    def precision(self) -> float:
        """Return the probability that a name is right, by the rule of succession."""
        return (self.right + 1) / (self.n + 2)


class Gazetteer(NamedTuple):
    names: dict[str, list[Words]]  # of each type of the data, in its order; a type may have none
    reliability: dict[str, Reliability]  # of each type


def read_gazetteer(docs: Callable[[], Iterable[Doc]], vocab: Vocab) -> Gazetteer:
    """Return the names that are annotated with the same type wherever their words occur.

    A repeated document with the same annotation, as from resampling, counts once. Words without
    annotation are ignored, and so is an O in a document that was annotated for other types only.

    docs (Callable[[], Iterable[Doc]]): Returns the gold documents; called twice.
    vocab (Vocab): Vocabulary of the pipeline.
    RETURNS (Gazetteer): Names by type, and the reliability of each type by leave-one-out.
    SOURCE: Tjong Kim Sang & De Meulder 2003, the baseline: names with one class in training data.
    """
    names: defaultdict[Words, set[str]] = defaultdict(set)
    for doc in docs():
        for ent in doc.ents:
            names[tuple(t.text for t in ent)].add(ent.label_)
    places: defaultdict[Words, list[Counter[str]]] = defaultdict(list)  # by document
    matcher, seen = matcher_of(vocab, {"name": names}, "ORTH"), set()
    for doc in docs():
        looked_for = tuple(doc.user_data.get(ANNOTATED_TYPES, ()))
        annotated = hash((doc.to_array(["ORTH", "ENT_IOB", "ENT_TYPE"]).tobytes(), looked_for))
        if annotated not in seen:
            seen.add(annotated)
            for name, labels in _labels_of(doc, matcher, names).items():
                places[name].append(labels)
    kept: dict[str, list[Words]] = {label: [] for labels in names.values() for label in sorted(labels)}
    counts: dict[str, list[int]] = {label: [0, 0] for label in kept}
    for name in names:
        total: Counter[str] = sum(places[name], Counter())
        if label := _one_type(total):
            kept[label].append(name)
        for place in places[name]:
            if label := _one_type(total - place):
                counts[label][0] += place[label]
                counts[label][1] += place.total()
    return Gazetteer(kept, {label: Reliability(*counts[label]) for label in kept})


def _one_type(labels: Counter[str]) -> str:
    """Return the type that all places have, or OTHER."""
    return next(iter(labels)) if len(labels) == 1 else OTHER


def _labels_of(
    doc: Doc, matcher: PhraseMatcher, names: Mapping[Words, set[str]]
) -> dict[Words, Counter[str]]:
    """Return how each name that occurs in a document is annotated there."""
    ents = {(ent.start, ent.end): ent.label_ for ent in doc.ents}
    looked_for = doc.user_data.get(ANNOTATED_TYPES)  # null where all types were
    labels: defaultdict[Words, Counter[str]] = defaultdict(Counter)
    iob = doc.to_array("ENT_IOB")
    for _, start, end in matcher(doc):
        words, codes = tuple(t.text for t in doc[start:end]), iob[start:end]
        is_open = looked_for is not None and not names[words].issubset(looked_for)
        if codes.all() and not (is_open and (codes == OUTSIDE).all()):
            labels[words][ents.get((start, end), OTHER)] += 1
    return labels
