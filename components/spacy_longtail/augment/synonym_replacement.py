"""Synonym replacement, from a thesaurus file or WordNet."""

import importlib
from functools import cache
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass
from spacy.language import Language

from ..errors import Errors
from ..settings import CHECKED
from .base import WordReplacement
from .draft import Draft, Piece, capitalised


@dataclass(eq=False, config=CHECKED)
class SynonymReplacement(WordReplacement):
    """Replace words by random synonyms from a thesaurus.

    The first word of a synonym gets the old tag, further words continue it: I-PER after B-PER or
    I-PER, else O. Stop words of the language are not replaced. A synonym takes over the initial
    capital of the word.

    thesaurus (Union[str, Path, None]): File with a line "word TAB synonym TAB synonym" per word, in
        any case; null uses the English WordNet through nltk.
    level (float): Probability that a word is replaced, 0 to 1.
    labels (Optional[List[str]]): Rewrite only sentences with mentions of these types; null rewrites
        all.
    budget (Optional[int]): Number of rewritten copies that are added to each example; null replaces
        the example by a rewritten copy.
    seed (int): Random seed.
    RETURNS (Callable): The augmenter, a function of nlp and an example to examples.
    SOURCE: Dai & Adel 2020 (docs/methods.md, "Augmentation").
    EXAMPLE:
        >>> from pathlib import Path
        >>> from spacy_longtail.augment import SynonymReplacement
        >>> _ = Path("synonyms.txt").write_text("hit\\tstruck", encoding="utf8")
        >>> augment = SynonymReplacement("synonyms.txt", level=1.0)
        >>> [eg.reference.text for eg in augment(nlp, examples[1])]
        ['Sandy struck Key West . ']
    """

    name: ClassVar[str] = "longtail.synonym_replacement.v1"

    thesaurus: str | Path | None = None

    def prepare(self, nlp: Language) -> None:
        self._synonyms = None if self.thesaurus is None else read_thesaurus(Path(self.thesaurus))
        if self._synonyms is None:
            problem = "" if nlp.lang == "en" else f"a pipeline of the language {nlp.lang!r}"
            try:
                wordnet_synonyms("word")
            except (ImportError, LookupError) as error:
                problem = str(error).strip().partition("\n")[0]
            if problem:
                raise ValueError(Errors.L117.format(found=problem))

    def replacement(self, nlp: Language, draft: Draft, place: int) -> list[Piece]:
        word = draft.texts[place]
        known = self._synonyms
        synonyms = wordnet_synonyms(word.lower()) if known is None else known.get(word.lower())
        if not synonyms:
            return []
        drawn = nlp.make_doc(self._rng.choice(synonyms))  # in tokens as the model will read them
        return capitalised([Piece(token.text, bool(token.whitespace_)) for token in drawn], word)


def read_thesaurus(path: Path) -> dict[str, list[str]]:
    """Return the distinct synonyms of lower-cased words. Entries of several words are ignored."""
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Name a thesaurus file."))
    thesaurus: dict[str, dict[str, None]] = {}
    problem = "it has no synonym of a single word"
    try:
        for i, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
            word, *synonyms = (" ".join(part.split()) for part in line.split("\t"))
            if line.strip() and not (word and any(synonyms)):
                raise ValueError(f"line {i} has no word and synonym, found {line[:60]!r}")
            others = [s for s in synonyms if s and s.lower() != word.lower()]
            if others and " " not in word:
                thesaurus.setdefault(word.lower(), {}).update(dict.fromkeys(others))
    except ValueError as error:  # of a line, or not UTF-8
        thesaurus, problem = {}, str(error)
    if not thesaurus:
        raise ValueError(Errors.L116.format(path=path, problem=problem))
    return {word: list(synonyms) for word, synonyms in thesaurus.items()}


@cache
def wordnet_synonyms(word: str) -> list[str]:
    """Return the other lemmas of a word in nltk's WordNet, the most frequent sense first."""
    synsets = importlib.import_module("nltk.corpus").wordnet.synsets(word)
    lemmas = dict.fromkeys(name.replace("_", " ") for synset in synsets for name in synset.lemma_names())
    return [lemma for lemma in lemmas if lemma.lower() != word]
