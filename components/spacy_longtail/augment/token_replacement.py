"""Label-wise token replacement: another token with the same tag."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..settings import finite
from .base import Budget, Reader
from .casing import Piece
from .draft import Draft
from .words import WordReplacement


class WeightedTokens(NamedTuple):
    texts: list[str]
    cumulative: list[float]  # weights, summed up


class TokenReplacement(WordReplacement):
    """Replace tokens by others of the same tag (O, B-PER, I-PER), drawn by their frequency in a corpus.

    Stop words of the language are neither replaced nor drawn.

    corpus (Callable): A reader of the untouched training data, nlp to examples, such as spacy.Corpus.v1.
        It is read once, at the first call.
    level (float): Probability that a token is replaced, in [0, 1].
    labels (Optional[List[str]]): Rewrite only sentences with a mention of these types; null for all.
    budget (Union[int, Repeats, None]): null rewrites in place, one example for one. A number n yields
        the original and n rewritten copies. A policy such as longtail.sCR.v1 yields the original and as
        many rewritten copies as the policy adds.
    power (float): A token is drawn in proportion to count^power, at least 0. 1 is its frequency, 0 draws
        every token evenly.
    protect_entities (bool): Whether tokens of entities stay as they are.
    seed (int): Fixes the draws.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    RAISES (ValueError): L001, L110, L111, L112, L114 when built; L101, L113, L115 at the first call.
    SOURCE: Dai & Adel 2020; power 0 as Wang & Wang 2022.
    """

    name = "longtail.token_replacement.v1"
    draws = "tokens"

    def __init__(
        self,
        corpus: Reader | None = None,
        level: float = 0.3,
        labels: Sequence[str] | None = None,
        budget: Budget = None,
        power: float = 1.0,
        protect_entities: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, level, labels, budget, protect_entities, seed)
        fix = "1 draws by frequency, 0 evenly."
        self.power = finite("power", power, "a finite number of at least 0", fix, low=0.0)
        self._pools: dict[tuple[int, int], WeightedTokens] = {}

    def fit(self, nlp: Language, docs: Iterable[Doc]) -> bool:
        found: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for doc in docs:
            draft = Draft(doc)
            for i in self.replaceable(nlp, draft, 0, len(doc)):
                found[draft.iob[i], draft.types[i]][draft.texts[i]] += 1
        self._pools = {tag: self._weighted(counts) for tag, counts in found.items()}
        return bool(found)

    def _weighted(self, counts: Counter[str]) -> WeightedTokens:
        most = max(counts.values())  # no power of a share overflows
        return WeightedTokens(
            list(counts), list(accumulate((n / most) ** self.power for n in counts.values()))
        )

    def replacement(self, nlp: Language, draft: Draft, place: int) -> Sequence[Piece]:
        pool = self._pools.get((draft.iob[place], draft.types[place]))
        if pool is None:
            return ()
        return (Piece(self._rng.choices(pool.texts, cum_weights=pool.cumulative)[0]),)
