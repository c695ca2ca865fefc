"""What the augmenters that replace single words share."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from spacy.language import Language

from ..settings import one_of
from .base import Augmenter, Budget, Reader
from .casing import Piece
from .draft import Draft, DraftSentence, Edit


class WordReplacement(Augmenter):
    """Decide at each word that is not a stop word, and with `protect_entities` in no entity."""

    def __init__(
        self,
        corpus: Reader | None,
        level: float,
        labels: Sequence[str] | None,
        budget: Budget,
        protect_entities: bool,
        seed: int,
    ) -> None:
        super().__init__(corpus, level, labels, budget, seed)
        one_of("protect_entities", protect_entities, (True, False))
        self.protect_entities = protect_entities

    def replaceable(self, nlp: Language, draft: Draft, start: int, end: int) -> Iterator[int]:
        stop_words = nlp.Defaults.stop_words
        for i in range(start, end):
            is_protected = self.protect_entities and draft.types[i]
            if not (draft.fixed[i] or is_protected or draft.texts[i].lower() in stop_words):
                yield i

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        for i in self.replaceable(nlp, sentence.draft, sentence.start, sentence.end):
            if self._rng.random() >= self.level:
                continue
            new = self.replacement(nlp, sentence.draft, i)
            if new:
                yield Edit(i, i + 1, sentence.cased(new, i, i + 1))

    @abstractmethod
    def replacement(self, nlp: Language, draft: Draft, place: int) -> Sequence[Piece]:
        """What replaces a token; empty to keep it."""
