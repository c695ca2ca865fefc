"""Synonym replacement, from a thesaurus file or WordNet."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Warnings
from .base import Budget, Reader
from .casing import Piece, capitalised
from .draft import Draft
from .thesaurus import check_wordnet, read_thesaurus, wordnet_synonyms
from .words import WordReplacement


class SynonymReplacement(WordReplacement):
    """Replace words by synonyms from a thesaurus, drawn evenly.

    A synonym of several words has the old tag at its first word; the the others continue it: I-PER after
    B-PER or I-PER, else O. Stop words of the language are not replaced. A word with an initial capital
    gives one to its synonym.

    thesaurus (Union[str, Path, None]): A file of synonyms, .json as {"word": ["synonym", ...]}, or else
        lines of word TAB synonym TAB synonym; case is ignored. null is the
        English WordNet, through nltk.
    corpus (Optional[Callable]): A reader of the untouched training data, for a policy as budget, or to
        check `labels`. It is read once, at the first call; an error where nothing needs it.
    level (float): Probability that a word is replaced, in [0, 1].
    labels (Optional[List[str]]): Rewrite only sentences with a mention of these types; null for all.
    budget (Union[int, Repeats, None]): null rewrites in place, one example for one. A number n yields
        the original and n rewritten copies. A policy such as longtail.sCR.v1 yields the original and as
        many rewritten copies as the policy adds.
    protect_entities (bool): Whether tokens of entities stay as they are.
    seed (int): Fixes the draws.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    RAISES (ValueError): L001, L110, L111, L112, L114, L116, L117, L213, L401, L402 when built;
        L101, L113 at the first call.
    SOURCE: Dai & Adel 2020.
    """

    name = "longtail.synonym_replacement.v1"

    def __init__(
        self,
        thesaurus: str | Path | None = None,
        corpus: Reader | None = None,
        level: float = 0.3,
        labels: Sequence[str] | None = None,
        budget: Budget = None,
        protect_entities: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(corpus, level, labels, budget, protect_entities, seed)
        self.thesaurus = thesaurus
        self._synonyms: dict[str, list[str]] | None = None
        if thesaurus is None:
            check_wordnet()
        else:
            self._synonyms = read_thesaurus(Path(thesaurus))

    def fit(self, nlp: Language, docs: Iterable[Doc]) -> bool:
        if self._synonyms is None and nlp.lang != "en":
            warnings.warn(Warnings.W021.format(lang=nlp.lang), stacklevel=2)
        return super().fit(nlp, docs)

    def replacement(self, nlp: Language, draft: Draft, place: int) -> Sequence[Piece]:
        word = draft.texts[place]
        if self._synonyms is None:
            found = wordnet_synonyms(word.lower())
        else:
            found = self._synonyms.get(word.lower(), [])
        if not found:
            return ()
        # tokenized like the texts that the model will read
        drawn = nlp.make_doc(self._rng.choice(found))
        return capitalised([Piece(token.text, bool(token.whitespace_)) for token in drawn], word)
