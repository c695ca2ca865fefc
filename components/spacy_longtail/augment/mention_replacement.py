"""Mention replacement: another mention of the same type."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import ClassVar

from pydantic.dataclasses import dataclass
from spacy.language import Language

from ..errors import Errors
from ..output.console import progress
from ..settings import CHECKED
from .base import Augmenter, Reader
from .draft import DraftSentence, Edit, Piece

Surface = tuple[Piece, ...]


def _key(texts: Sequence[str]) -> str:
    return " ".join(texts).casefold()


@dataclass(eq=False, config=CHECKED)
class MentionReplacement(Augmenter):
    """Replace mentions by random other mentions of the same type.

    Each distinct mention of the corpus is equally likely. The tags follow the length of the new
    mention. It differs from the old one in more than case, unless the corpus has no other.

    corpus (Callable): Reader of the untouched training data, such as spacy.Corpus.v1. It is read
        once.
    level (float): Probability that a mention is replaced, 0 to 1.
    labels (Optional[List[str]]): Types whose mentions are replaced; null replaces those of all.
    budget (Optional[int]): Number of rewritten copies that are added to each example; null replaces
        the example by a rewritten copy.
    seed (int): Random seed.
    RETURNS (Callable): The augmenter, a function of nlp and an example to examples.
    SOURCE: Dai & Adel 2020 (docs/methods.md, "Augmentation").
    EXAMPLE:
        >>> from spacy_longtail.augment import MentionReplacement
        >>> augment = MentionReplacement(lambda nlp: examples, level=1.0, labels=["EVE"])
        >>> [eg.reference.text for eg in augment(nlp, examples[0])]
        ['Sandy came . ']
    """

    name: ClassVar[str] = "longtail.mention_replacement.v1"

    corpus: Reader

    def prepare(self, nlp: Language) -> None:
        by_key: dict[int, dict[str, dict[tuple[str, ...], Surface]]] = defaultdict(dict)
        for draft in progress(self.drafts(nlp, self.corpus), "mentions to draw"):
            for start, end, label in draft.mentions:
                if self.targets_type(label):
                    texts = tuple(draft.texts[start:end])
                    pieces = tuple(map(Piece, texts, draft.spaces[start:end]))
                    by_key[label].setdefault(_key(texts), {}).setdefault(texts, pieces)
        if not by_key:
            raise ValueError(Errors.L115.format(who=self.name, problem="no mention to draw"))
        self._pools: dict[int, list[Surface]] = {}  # the distinct surfaces by type
        # by type and case-folded text, the slice of the pool with the surfaces of this text
        self._places: dict[int, dict[str, tuple[int, int]]] = {}
        for label, surfaces in by_key.items():
            self._pools[label] = [*chain.from_iterable(groups.values() for groups in surfaces.values())]
            ends = accumulate(map(len, surfaces.values()), initial=0)
            self._places[label] = dict(zip(surfaces, pairwise(ends), strict=True))

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        for start, end, label in sentence.mentions:
            if not self.targets_type(label) or self._rng.random() >= self.level:
                continue
            pool = self._pools.get(label, [])
            first, last = self._places.get(label, {}).get(_key(sentence.draft.texts[start:end]), (0, 0))
            n_others = len(pool) - (last - first)
            if n_others:  # equally likely mentions that differ from the old one in more than case
                i = self._rng.randrange(n_others)
                new = pool[i if i < first else i + last - first]
                yield Edit(start, end, sentence.cased(new, start, end))
