"""`longtail_gazetteer`: finds names again that have one type wherever training data has them."""

import warnings
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from spacy.language import Language
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import filter_spans, logger
from spacy.vocab import Vocab
from typing_extensions import TypedDict

from ..corpus.counts import OUTSIDE
from ..corpus.names import matcher_of
from ..errors import Warnings
from ..types import ANNOTATED_TYPES, ENTITY_SCORES
from .base import UntrainedPipe, factory
from .label_checks import check_labels, check_types, refuse_new_type
from .scores.merging import remove_from
from .scores.spans import ScoredSpan, blocked_tokens, write_entities, write_scores

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


WHO = "longtail_gazetteer"


class KeptNames(TypedDict):
    """Names of a type, and how often they are right in other documents."""

    names: list[list[str]]  # the words of each
    right: int
    n: int


class TrainingGazetteer(UntrainedPipe):
    """Gazetteer of the training data after an NER: names that always had one type.

    Entity score: how often names of the type are right in documents that they were not taken from,
    by the rule of succession. There is nothing to train: like a ruler it has no `update`.

    A name replaces the entities that it overlaps, unless one of them contains it and is longer.

    labels (Optional[List[str]]): Types whose names are kept: `${longtail.tail}` for the rare ones,
        of which there may be none; null is all.
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null writes
        none, and leaves the groups of other components as they are.
    scorer (Optional[Callable]): The scoring function.
    """

    learnt: ClassVar = {"names": dict[str, KeptNames]}
    required = ("names",)

    def __init__(
        self,
        nlp: Language,
        name: str,
        labels: list[str] | None = None,
        scores_key: str | None = ENTITY_SCORES,
        scorer: Callable | None = None,
    ) -> None:
        labels = check_types("labels", labels, WHO) if labels else labels
        super().__init__(nlp.vocab, name, scorer, labels=labels, scores_key=scores_key, names={})

    def restart(self) -> None:
        table = self.cfg["names"]
        names = {label: [tuple(words) for words in entry["names"]] for label, entry in table.items()}
        reliability = {label: Reliability(entry["right"], entry["n"]) for label, entry in table.items()}
        self.gazetteer = Gazetteer(names, reliability)
        self._matcher = matcher_of(self.vocab, names, "ORTH")

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the types that have names."""
        return tuple(self.gazetteer.names)

    def add_label(self, label: str) -> int:
        """Refuse a type that the component lacks. RETURNS (int): 0, for a type that it has."""
        return refuse_new_type(self.name, self.labels, label, "the names of the training data")

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        counts_corpus: Callable | None = None,
    ) -> None:
        """Read the names of the training data, and how far they can be relied on.

        get_examples (Callable): Training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): Labels of `init labels`, which must be the types found here.
        counts_corpus (Optional[Callable]): A reader of the untouched data; null is `get_examples`.
        """
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        names, reliability = read_gazetteer(lambda: (eg.reference for eg in seen()), self.vocab)
        asked = self.cfg["labels"]
        if asked and names and names.keys().isdisjoint(asked):
            known = sorted(names)
            said = Warnings.W181.format(
                who=self.name,
                asked=", ".join(sorted(asked)),
                known=", ".join(known),
                first=known[0],
            )
            warnings.warn(said, stacklevel=2)
        kept = [t for t in names if names[t] and (asked is None or t in asked)]
        check_labels(labels, kept, WHO)
        self.cfg["names"] = {t: {"names": names[t], **reliability[t]._asdict()} for t in kept}
        self.restart()
        for label, entry in self.cfg["names"].items():
            text = "%s: %s %d names, %d of %d right in other documents"
            logger.info(text, self.name, label, len(entry["names"]), entry["right"], entry["n"])

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """Return the names in each document: the longest of overlapping ones, then the first."""
        if not self.labels:
            return [[] for _ in docs]
        by_doc = (filter_spans(self._matcher(doc, as_spans=True)) for doc in docs)
        return [[self._scored(span) for span in spans] for spans in by_doc]

    def _scored(self, span: Span) -> ScoredSpan:
        score = self.gazetteer.reliability[span.label_].precision
        return ScoredSpan(span.start, span.end, span.label_, score, (score,) * len(span))

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        key = self.cfg["scores_key"]
        for doc, names in zip(docs, scores, strict=True):
            blocked = set(blocked_tokens(doc)) if names else set()
            ents = doc.ents if names else ()
            starts, ends = [ent.start for ent in ents], [ent.end for ent in ents]
            new, removed = list[ScoredSpan](), list[Span]()
            for name in names:
                others = ents[bisect_right(ends, name.start) : bisect_left(starts, name.end)]
                if blocked.isdisjoint(range(name.start, name.end)) and _wins(name, others):
                    new.append(name)
                    removed.extend(others)
            if new:
                remove_from(doc, removed, key)
                write_entities(doc, new, key)
            elif key is not None and key not in doc.spans:
                write_scores(doc, key, [])


def _wins(name: ScoredSpan, others: Sequence[Span]) -> bool:
    """Return whether a name replaces the entities that it overlaps."""
    if not others:
        return True
    first = others[0]  # if it holds the name, there is no other
    holds_it = first.start <= name.start and first.end >= name.end
    return not (holds_it and (len(first) > name.end - name.start or first.label_ == name.label))


make_gazetteer = factory(WHO, "ner")(TrainingGazetteer)
