"""What the augmenters share: settings, the budget, and a copy that stays aligned."""

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from .draft import Draft, DraftSentence, Edit

Reader = Callable[[Language], Iterable[Example]]
Budget = int | Repeats | None


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
        labels: Sequence[str] | None = None,
        budget: Budget = None,
        seed: int = 0,
    ) -> None:
        self.corpus = corpus
        self.level = finite(
            "level", level, "a number from 0 to 1", "0.3 rewrites three places in ten.", 0.0, 1.0
        )
        self.labels = None if labels is None else _types(self.name, labels)
        self.budget = _budget(self.name, budget)
        self.seed = seed_of(seed)
        self._check_corpus()
        self._targets = None if self.labels is None else {get_string_id(t) for t in self.labels}
        # salted, so that augmenters with the same seed do not make the same draws
        self._rng = random.Random(f"{self.seed}/{self.name}")
        self._counts: CorpusCounts | None = None
        self._copies: Callable[[SentenceCounts], float] | None = None

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        """nlp (Language): The current pipeline.
        example (Example): The example to augment.
        YIELDS (Example): The rewritten example, or the original and its rewritten copies (`budget`).
        RAISES (ValueError): L101, L113, L115, L119 at the first calls; the first reads 'corpus'."""
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
        found = sentence.draft.types[sentence.start : sentence.end]
        return self._targets is None or not self._targets.isdisjoint(found)

    def _check_corpus(self) -> None:
        if self.corpus is not None and not callable(self.corpus):
            raise ValueError(Errors.L111.format(who=self.name, found=self.corpus))
        has_policy = not isinstance(self.budget, int | None)
        if self.corpus is None and (self.draws or has_policy):
            purpose = f"draws {self.draws}" if self.draws else "counts types for its budget"
            raise ValueError(Errors.L110.format(who=self.name, purpose=purpose))
        if self.corpus is not None and not (self.draws or has_policy or self.labels):
            where = "'labels' or a 'budget' that is a policy"
            raise unused("corpus", type(self.corpus).__name__, self.name, where)

    def _read(self, nlp: Language) -> CorpusCounts:
        """One pass over the corpus, for pools and counts."""
        counts = CorpusCounts()

        def docs() -> Iterator[Doc]:
            for eg in () if self.corpus is None else self.corpus(nlp):
                counts.add(count_doc(eg.reference))
                yield eg.reference

        if not self.fit(nlp, docs()):
            raise ValueError(Errors.L115.format(who=self.name, what=self.draws, n_units=counts.n_units))
        unknown = sorted(set(self.labels or ()) - set(counts.labels))
        if self.corpus is not None and unknown:
            raise ValueError(
                Errors.L113.format(
                    who=self.name, unknown=", ".join(unknown), known=", ".join(counts.labels)
                )
            )
        return counts

    def _fitted(self, policy: Repeats, counts: CorpusCounts) -> Callable[[SentenceCounts], float]:
        """The policy on the counts of the corpus, refused if it never adds a copy."""
        copies, labels = policy.fit(counts), counts.labels
        one_of_each = dict.fromkeys(labels, 1)
        if copies(SentenceCounts(one_of_each, len(labels), one_of_each, one_of_each)) <= 1:
            raise ValueError(Errors.L119.format(who=self.name, policy=policy))
        return copies

    def _n_copies(self, reference: Doc, counts: CorpusCounts) -> int:
        """Rewritten copies of an example."""
        if self.budget is None:
            return 1
        if isinstance(self.budget, int):
            return self.budget
        if self._copies is None:
            self._copies = self._fitted(self.budget, counts)
        n, part = divmod(max(self._copies(count_doc(reference)) - 1, 0), 1)
        return int(n) + (self._rng.random() < part)


def _types(who: str, labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str) or not labels or not all(isinstance(t, str) and t for t in labels):
        raise ValueError(Errors.L112.format(who=who, found=labels))
    return list(labels)


def _budget(who: str, budget: Budget) -> Budget:
    if budget is None or callable(getattr(budget, "fit", None)):
        return budget
    try:
        return whole("budget", budget, "", low=1)
    except ValueError as error:
        raise ValueError(Errors.L114.format(who=who, found=budget)) from error


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
