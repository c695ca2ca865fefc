"""A gazetteer of training data: the names that are of one type wherever they stand there."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..types import ANNOTATED_TYPES

Words = tuple[str, ...]
OUTSIDE = 2  # of ENT_IOB
OTHER = ""  # in place of a type, where a name stands without being annotated as just that name


class Reliability(NamedTuple):
    """How often a gazetteer of the other documents is right of a name in the one left out."""

    right: int
    n: int

    @property
    def precision(self) -> float:
        """The chance that the next name is right, by the rule of succession: 0.5 of no name."""
        return (self.right + 1) / (self.n + 2)


class Gazetteer(NamedTuple):
    names: dict[str, list[Words]]  # of each type of the data, in its order; a type may have none
    reliability: dict[str, Reliability]  # of each type


def read_gazetteer(docs: Callable[[], Iterable[Doc]], vocab: Vocab) -> Gazetteer:
    """The names that are annotated with one and the same type wherever their words stand.

    A document that comes again with the same annotation, as resampling repeats it, counts once.
    Words without annotation count for nothing, nor does an O in a document that was annotated for
    other types than the name's alone.

    docs (Callable[[], Iterable[Doc]]): The documents with gold entities, which are read twice.
    vocab (Vocab): Of the pipeline.
    RETURNS (Gazetteer): Names and, by type, what leaving out one document after the other says.
    SOURCE: Tjong Kim Sang & De Meulder 2003, the baseline: names with one class in training data.
    """
    names: defaultdict[Words, set[str]] = defaultdict(set)
    for doc in docs():
        for ent in doc.ents:
            names[tuple(t.text for t in ent)].add(ent.label_)
    places: defaultdict[Words, list[Counter[str]]] = defaultdict(list)  # by document
    matcher, seen = phrase_matcher(vocab, {"name": names}), set()
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
    """The type that all places have; OTHER where it is not one, or there is none."""
    return next(iter(labels)) if len(labels) == 1 else OTHER


def _labels_of(
    doc: Doc, matcher: PhraseMatcher, names: Mapping[Words, set[str]]
) -> dict[Words, Counter[str]]:
    """What each name that stands in a document is annotated as there."""
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


def phrase_matcher(vocab: Vocab, names: Mapping[str, Iterable[Words]]) -> PhraseMatcher:
    """A matcher of the words of names, by type."""
    matcher = PhraseMatcher(vocab)
    for label, phrases in names.items():
        matcher.add(label, [Doc(vocab, words=list(words)) for words in phrases])
    return matcher
