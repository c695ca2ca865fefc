"""What the augmenters share: settings, the budget, and a copy that stays aligned."""

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from spacy.language import Language
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.counts import CorpusCounts, count_doc
from ..corpus.cutting import bare
from ..corpus.examples import same_tokens
from ..corpus.repeats import Repeats
from ..errors import Errors
from ..settings import finite, seed_of, unused, whole
from ..types import ANNOTATED_TYPES, SentenceCounts
from .draft import Draft, DraftSentence, Edit, Piece

Reader = Callable[[Language], Iterable[Example]]
Budget = int | Repeats | None
PLAIN = "Add to its block: corpus = ${corpora.plain}, a reader of the untouched training data."


class Augmenter(ABC):
    """A spaCy augmenter that rewrites the annotated sentences of an example, one decision per place.

    References are unchanged. A rewritten copy has words, spaces, sentence starts and entities.
    """

    name: ClassVar[str]  # as published
    draws: ClassVar[str] = ""  # what it draws from 'corpus', nothing if it is empty

    def __init__(
        self,
        corpus: Reader | None = None,
        level: float = 0.3,
        labels: list[str] | None = None,
        budget: Budget = None,
        seed: int = 0,
    ) -> None:
        fix = "0.3 rewrites three places in ten."
        self.corpus = corpus
        self.level = finite("level", level, "a number from 0 to 1", fix, 0.0, 1.0)
        if labels is not None and not labels:
            raise unused("labels", labels, self.name, "at least one type; null is all")
        self.labels = labels
        has_policy = callable(getattr(budget, "fit", None))
        if budget is not None and not has_policy:
            budget = whole("budget", budget, "1 adds one copy; a policy adds more, or null.", low=1)
        self.budget = budget
        self.seed = seed_of(seed)
        if corpus is None and (self.draws or has_policy):
            needs = "a 'corpus' to draw from, or to count types in"
            raise ValueError(Errors.L110.format(who=self.name, needs=needs, fix=PLAIN))
        if corpus is not None and not (self.draws or has_policy or labels):
            raise unused("corpus", corpus, self.name, "'labels' or a 'budget' that is a policy")
        self._targets = None if labels is None else {get_string_id(t) for t in labels}
        # salted, so that augmenters with the same seed do not make the same draws
        self._rng = random.Random(f"{self.seed}/{self.name}")
        self._counts: CorpusCounts | None = None
        self._copies: Callable[[SentenceCounts], float] | None = None

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        """nlp (Language): The current pipeline.
        example (Example): The example to augment.
        YIELDS (Example): The rewritten example, or the original and its rewritten copies (`budget`)."""
        if self._counts is None:
            self._counts = self._read(nlp)
        draft = Draft(example.reference)
        targets = [sentence for sentence in draft.sentences() if self._is_target(sentence)]
        if self.budget is not None or not targets:
            yield example
        for _ in range(self._n_copies(example.reference, self._counts) if targets else 0):
            edits = [edit for sentence in targets for edit in self.edits(nlp, sentence)]
            yield _rewritten(nlp, example, draft, edits)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_copies": None}  # a fitted policy does not pickle

    @abstractmethod
    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        """The edits of one sentence, in ascending order."""

    def fit(self, nlp: Language, docs: Iterable[Doc]) -> bool:
        """Build the pools from the references of the corpus.

        RETURNS (bool): Whether there is anything to draw."""
        deque(docs, maxlen=0)
        return True

    def targets_type(self, label: int) -> bool:
        return self._targets is None or label in self._targets

    def _is_target(self, sentence: DraftSentence) -> bool:
        types = sentence.draft.types[sentence.start : sentence.end]
        return self._targets is None or not self._targets.isdisjoint(types)

    def _read(self, nlp: Language) -> CorpusCounts:
        """One pass over the corpus, for pools and counts."""
        counts = CorpusCounts()

        def docs() -> Iterator[Doc]:
            for eg in () if self.corpus is None else self.corpus(nlp):
                counts.add(count_doc(eg.reference))
                yield eg.reference

        problem = "" if self.fit(nlp, docs()) else f"no {self.draws} in {counts.n_units} documents"
        unknown = sorted(set(self.labels or ()) - set(counts.labels))
        if self.corpus is not None and unknown:
            problem = f"no {', '.join(unknown)}, only {', '.join(counts.labels)}"
        if isinstance(self.budget, Repeats) and not problem:
            self._copies, labels = self.budget.fit(counts), counts.labels
            each = dict.fromkeys(labels, 1)
            if self._copies(SentenceCounts(each, len(labels), each, each)) <= 1:
                problem = f"no sentence that {self.budget} gives a copy"
        if problem:
            raise ValueError(Errors.L115.format(who=self.name, problem=problem))
        return counts

    def _n_copies(self, reference: Doc, counts: CorpusCounts) -> int:
        """Rewritten copies of an example."""
        if self.budget is None:
            return 1
        if isinstance(self.budget, int):
            return self.budget
        if self._copies is None:  # after unpickling
            self._copies = self.budget.fit(counts)
        n, part = divmod(max(self._copies(count_doc(reference)) - 1, 0), 1)
        return int(n) + (self._rng.random() < part)


def _rewritten(nlp: Language, example: Example, draft: Draft, edits: list[Edit]) -> Example:
    """The example with the edits made; itself, with all its annotation, where they change nothing."""
    edits = [e for e in edits if [p.text for p in e.new] != draft.texts[e.start : e.end]]
    if not edits:
        return example
    reference = draft.rewritten(example.reference.vocab, edits)
    known = example.reference.user_data
    if ANNOTATED_TYPES in known:  # a type that nobody looked for is not taught as O
        reference.user_data[ANNOTATED_TYPES] = known[ANNOTATED_TYPES]
    if not same_tokens(example):
        return Example(nlp.make_doc(reference.text), reference)
    return Example(bare(reference), reference)


class WordReplacement(Augmenter):
    """Decides at each word that is not a stop word of the language."""

    def replaceable(self, nlp: Language, draft: Draft, start: int, end: int) -> Iterator[int]:
        stop_words = nlp.Defaults.stop_words
        for i in range(start, end):
            if not (draft.fixed[i] or draft.texts[i].lower() in stop_words):
                yield i

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        for i in self.replaceable(nlp, sentence.draft, sentence.start, sentence.end):
            if self._rng.random() < self.level:
                new = self.replacement(nlp, sentence.draft, i)
                if new:
                    yield Edit(i, i + 1, sentence.cased(new, i, i + 1))

    @abstractmethod
    def replacement(self, nlp: Language, draft: Draft, place: int) -> list[Piece]:
        """What replaces a token; empty to keep it."""
