"""Label-wise token replacement: another token with the same tag."""

from collections import Counter, defaultdict
from dataclasses import field
from itertools import accumulate
from typing import ClassVar

from pydantic import NonNegativeFloat
from pydantic.dataclasses import dataclass
from spacy.language import Language

from ..errors import Errors
from ..settings import CHECKED
from .base import Reader, WordReplacement
from .draft import Draft, Piece


@dataclass(eq=False, config=CHECKED)
class TokenReplacement(WordReplacement):
    """Replace tokens by others of the same tag (O, B-PER, I-PER), drawn by frequency in a corpus.

    Stop words of the language are neither replaced nor drawn.

    corpus (Callable): A reader of the untouched training data, as spacy.Corpus.v1; it is read once.
    level (float): Probability that a token is replaced, in [0, 1].
    labels (Optional[List[str]]): Rewrite only sentences with mentions of these types; null for all.
    budget (Optional[int]): null rewrites in place, n yields the original and n rewritten copies.
    power (float): A token is drawn in proportion to count^power, at least 0: 0 draws evenly.
    seed (int): Fixes the draws.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    SOURCE: Dai & Adel 2020; power 0 as Wang & Wang 2022.
    """

    name: ClassVar[str] = "longtail.token_replacement.v1"

    corpus: Reader
    power: NonNegativeFloat = field(default=1.0, kw_only=True)

    def prepare(self, nlp: Language) -> None:
        counts: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for draft in self.drafts(nlp, self.corpus):
            for i in self.replaceable(nlp, draft, 0, len(draft.texts)):
                counts[draft.iob[i], draft.types[i]][draft.texts[i]] += 1
        if not counts:
            raise ValueError(Errors.L115.format(who=self.name, problem="no token to draw"))
        # tokens of each tag, and their weights summed up
        self._pools: dict[tuple[int, int], tuple[list[str], list[float]]] = {}
        for tag, tags in counts.items():
            most = max(tags.values())  # no power of a share overflows
            weights = accumulate((n / most) ** self.power for n in tags.values())
            self._pools[tag] = list(tags), list(weights)

    def replacement(self, nlp: Language, draft: Draft, place: int) -> list[Piece]:
        texts, weights = self._pools.get((draft.iob[place], draft.types[place]), ([], []))
        return [Piece(self._rng.choices(texts, cum_weights=weights)[0])] if texts else []
