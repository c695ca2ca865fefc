"""Mention replacement: another mention of the same type."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from spacy.language import Language
from spacy.tokens import Doc

from .base import Augmenter
from .casing import Piece
from .draft import Draft, DraftSentence, Edit

Surface = tuple[Piece, ...]


class Surfaces:
    """The distinct surfaces of one type. Those that differ in case alone stand side by side."""

    def __init__(self, by_key: dict[str, dict[tuple[str, ...], Surface]]) -> None:
        self._surfaces: list[Surface] = []
        self._places: dict[str, tuple[int, int]] = {}
        for key, variants in by_key.items():
            start = len(self._surfaces)
            self._surfaces.extend(variants.values())
            self._places[key] = (start, len(self._surfaces))

    def draw(self, texts: Sequence[str], rng: random.Random) -> Surface | None:
        """One of the surfaces, each as likely, not `texts` in any case; None if there is no other."""
        start, end = self._places.get(_key(texts), (0, 0))
        n_others = len(self._surfaces) - (end - start)
        if not n_others:
            return None
        i = rng.randrange(n_others)
        return self._surfaces[i if i < start else i + end - start]


def _key(texts: Sequence[str]) -> str:
    return " ".join(texts).casefold()


class MentionReplacement(Augmenter):
    """Replace mentions by others of the same type, drawn evenly from the distinct ones of a corpus.

    The tags follow the length of the new mention. It is never the old one, upper and lower case aside,
    unless the corpus has no other.

    corpus (Callable): A reader of the untouched training data, nlp to examples, such as spacy.Corpus.v1.
        It is read once, at the first call.
    level (float): Probability that a mention is replaced, in [0, 1].
    labels (Optional[List[str]]): Types whose mentions are replaced; null for all.
    budget (Union[int, Repeats, None]): null rewrites in place, one example for one. A number n yields
        the original and n rewritten copies. A policy such as longtail.sCR.v1 yields the original and as
        many rewritten copies as the policy adds.
    seed (int): Fixes the draws.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    RAISES (ValueError): L001, L110, L111, L112, L114 when built; L101, L113, L115 at the first call.
    SOURCE: Dai & Adel 2020.
    """

    name = "longtail.mention_replacement.v1"
    draws = "mentions"

    _pools: dict[int, Surfaces]  # by type, as `fit` finds them

    def fit(self, nlp: Language, docs: Iterable[Doc]) -> bool:
        found: dict[int, dict[str, dict[tuple[str, ...], Surface]]] = defaultdict(dict)
        for doc in docs:
            draft = Draft(doc)
            for start, end, label in draft.mentions:
                if self.targets_type(label):
                    texts = tuple(draft.texts[start:end])
                    pieces = tuple(map(Piece, texts, draft.spaces[start:end]))
                    found[label].setdefault(_key(texts), {}).setdefault(texts, pieces)
        self._pools = {label: Surfaces(by_key) for label, by_key in found.items()}
        return bool(found) or self.labels is not None  # else the unknown types are named

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        for start, end, label in sentence.mentions:
            if not self.targets_type(label) or self._rng.random() >= self.level:
                continue
            pool = self._pools.get(label)
            new = pool and pool.draw(sentence.draft.texts[start:end], self._rng)
            if new:
                yield Edit(start, end, sentence.cased(new, start, end))
