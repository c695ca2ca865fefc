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
    """Replace tokens by random tokens that have the same tag in a corpus, such as O or B-PER.

    Stop words of the language are neither replaced nor used as replacements.

    corpus (Callable): Reader of the untouched training data, such as spacy.Corpus.v1. It is read
        once.
    level (float): Probability that a token is replaced, 0 to 1.
    labels (Optional[List[str]]): Rewrite only sentences with mentions of these types; null rewrites
        all.
    budget (Optional[int]): Number of rewritten copies that are added to each example; null replaces
        the example by a rewritten copy.
    power (float): A replacement has a probability proportional to count^power, no unit, at least 0.
        With 0 all are equally likely.
    seed (int): Random seed.
    RETURNS (Callable): The augmenter, a function of nlp and an example to examples.
    SOURCE: Dai & Adel 2020; power 0 as Wang & Wang 2022 (docs/methods.md, "Augmentation").
    EXAMPLE:
        >>> from spacy_longtail.augment import TokenReplacement
        >>> augment = TokenReplacement(lambda nlp: examples, level=1.0)
        >>> [eg.reference.text for eg in augment(nlp, examples[1])]
        ['Hurricane day Key West . ']
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
        # tokens of each tag, and their cumulative weights
        self._pools: dict[tuple[int, int], tuple[list[str], list[float]]] = {}
        for tag, of_tag in counts.items():
            highest = max(of_tag.values())  # no power of a fraction overflows
            weights = accumulate((n / highest) ** self.power for n in of_tag.values())
            self._pools[tag] = list(of_tag), list(weights)

    def replacement(self, nlp: Language, draft: Draft, place: int) -> list[Piece]:
        texts, weights = self._pools.get((draft.iob[place], draft.types[place]), ([], []))
        return [Piece(self._rng.choices(texts, cum_weights=weights)[0])] if texts else []
