"""A gazetteer of training data: the names that are of one type wherever they stand there."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

Words = tuple[str, ...]
OTHER = ""  # in place of a type, where a name stands without being annotated as just that name


class Reliability(NamedTuple):
    """How often a gazetteer of the other documents is right of a name in the one that was left out."""

    right: int
    n: int

    @property
    def precision(self) -> float:
        """The chance that the next name is right, by the rule of succession: 0.5 of no name."""
        return (self.right + 1) / (self.n + 2)


class Gazetteer(NamedTuple):
    names: dict[str, list[Words]]  # of each type, in the order of the data
    reliability: dict[str, Reliability]  # of each type that has a name


def read_gazetteer(docs: Callable[[], Iterable[Doc]], vocab: Vocab) -> Gazetteer:
    """The names that are annotated with one and the same type at each place where their words stand.

    A document that comes more than once with the same annotation, as resampling repeats it, counts once.
    Words without annotation count for nothing.

    docs (Callable[[], Iterable[Doc]]): The documents with gold entities, which are read twice.
    vocab (Vocab): Of the pipeline.
    RETURNS (Gazetteer): Names and, of each type, what leaving out one document after the other says.
    SOURCE: Tjong Kim Sang & De Meulder 2003, the baseline: names with a unique class in training data.
    """
    names = {tuple(t.text for t in ent): ent.label_ for doc in docs() for ent in doc.ents}
    places: defaultdict[Words, list[Counter[str]]] = defaultdict(list)  # by document
    matcher, seen = phrase_matcher(vocab, {"name": names}), set()
    for doc in docs():
        annotated = hash(doc.to_array(["ORTH", "ENT_IOB", "ENT_TYPE"]).tobytes())
        if annotated not in seen:
            seen.add(annotated)
            for name, found in _labels_of(doc, matcher).items():
                places[name].append(found)
    kept: dict[str, list[Words]] = {}
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name in names:
        total: Counter[str] = sum(places[name], Counter())
        if label := _one_type(total):
            kept.setdefault(label, []).append(name)
        for own in places[name]:
            if label := _one_type(total - own):
                counts[label][0] += own[label]
                counts[label][1] += own.total()
    return Gazetteer(kept, {label: Reliability(*counts[label]) for label in kept})


def _one_type(found: Counter[str]) -> str:
    """The type that all places have; OTHER where it is not one, or there is none."""
    return next(iter(found)) if len(found) == 1 else OTHER


def _labels_of(doc: Doc, matcher: PhraseMatcher) -> dict[Words, Counter[str]]:
    """What each name that stands in a document is annotated as there."""
    own = {(ent.start, ent.end): ent.label_ for ent in doc.ents}
    unknown = doc.to_array("ENT_IOB") == 0
    found: defaultdict[Words, Counter[str]] = defaultdict(Counter)
    for _, start, end in matcher(doc):
        if not unknown[start:end].any():
            words = tuple(t.text for t in doc[start:end])
            found[words][own.get((start, end), OTHER)] += 1
    return found


def phrase_matcher(vocab: Vocab, names: Mapping[str, Iterable[Words]]) -> PhraseMatcher:
    """A matcher of the words of names, by type."""
    matcher = PhraseMatcher(vocab)
    for label, own in names.items():
        matcher.add(label, [Doc(vocab, words=list(words)) for words in own])
    return matcher
