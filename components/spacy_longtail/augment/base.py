"""Base classes of augmenters: settings, budget, and copies whose annotation stays aligned."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass
from spacy.language import Language
from spacy.strings import get_string_id
from spacy.training import Example

from ..corpus.cutting import bare
from ..corpus.examples import Reader, same_tokens, warn_of_document_annotation
from ..corpus.labels import declared_types
from ..errors import Errors
from ..settings import CHECKED
from ..types import ANNOTATED_TYPES
from .draft import Draft, DraftSentence, Edit, Piece


@dataclass(kw_only=True, eq=False, config=CHECKED)
class Augmenter(ABC):
    """Augmenter: rewrites annotated sentences of an example, with one random decision per place.

    The example itself is not changed. A rewritten copy has words, spaces, sentence starts and
    entities.
    """

    name: ClassVar[str]  # as published

    level: Annotated[float, Field(ge=0, le=1)] = 0.3
    labels: Annotated[list[str], Field(min_length=1)] | None = None
    budget: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self._targets = None if self.labels is None else {*map(get_string_id, self.labels)}
        # salted, so that augmenters with the same seed do not make the same draws
        self._rng = random.Random(f"{self.seed}/{self.name}")
        self._is_prepared = False

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        """Yield a rewritten copy, or with a budget the example and several copies."""
        if not self._is_prepared:
            self.prepare(nlp)
            self._is_prepared = True
        draft = Draft(example.reference)
        targets = [
            sentence
            for sentence in draft.sentences()
            if any(map(self.targets_type, draft.types[sentence.start : sentence.end]))
        ]
        if self.budget is not None or not targets:
            yield example
        for _ in range(self.budget or 1) if targets else ():
            edits = [edit for sentence in targets for edit in self.edits(nlp, sentence)]
            yield _rewritten(nlp, example, draft, edits)

    def prepare(self, nlp: Language) -> None:  # noqa: B027
        """Prepare for the first example, such as by collecting replacements from a corpus."""

    @abstractmethod
    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        """Yield the edits of one sentence, in ascending order."""

    def drafts(self, nlp: Language, corpus: Reader) -> Iterator[Draft]:
        """Yield the documents of a corpus.

        RAISES (ValueError): If none has a mention of one of `labels` (L115).
        """
        known: set[str] = set()
        for eg in corpus(nlp):
            known.update(ent.label_ for ent in eg.reference.ents)
            yield Draft(eg.reference)
        if unknown := sorted({*(self.labels or ())} - known - {*declared_types(nlp)}):
            problem = f"no {', '.join(unknown)}, only {', '.join(sorted(known))}"
            raise ValueError(Errors.L115.format(who=self.name, problem=problem))

    def targets_type(self, label: int) -> bool:
        """Return whether mentions of a type are rewritten.

        label (int): Hash of the type.
        """
        return self._targets is None or label in self._targets


def _rewritten(nlp: Language, example: Example, draft: Draft, edits: list[Edit]) -> Example:
    """Return a copy of the example with the edits, or the example itself if they change nothing."""
    edits = [e for e in edits if [p.text for p in e.new] != draft.texts[e.start : e.end]]
    if not edits:
        return example
    warn_of_document_annotation(example)
    reference = draft.rewritten(example.reference.vocab, edits)
    known = example.reference.user_data
    if ANNOTATED_TYPES in known:  # types that were not annotated must not be learnt as O
        reference.user_data[ANNOTATED_TYPES] = known[ANNOTATED_TYPES]
    return Example(bare(reference) if same_tokens(example) else nlp.make_doc(reference.text), reference)


class WordReplacement(Augmenter):
    """Augmenter that decides at each word, except for stop words of the language."""

    def replaceable(self, nlp: Language, draft: Draft, start: int, end: int) -> Iterator[int]:
        """Return the indices of tokens from start to end that can be replaced."""
        stop_words, texts = nlp.Defaults.stop_words, draft.texts
        return (i for i in range(start, end) if not (draft.fixed[i] or texts[i].lower() in stop_words))

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        for i in self.replaceable(nlp, sentence.draft, sentence.start, sentence.end):
            is_drawn = self._rng.random() < self.level
            if is_drawn and (new := self.replacement(nlp, sentence.draft, i)):
                yield Edit(i, i + 1, sentence.cased(new, i, i + 1))

    @abstractmethod
    def replacement(self, nlp: Language, draft: Draft, place: int) -> list[Piece]:
        """Return the tokens that replace a token, or nothing to keep it."""
