"""Relabelling: leave out entity types of a corpus."""

import warnings
from collections.abc import Iterator

from spacy.language import Language
from spacy.training import Example

from ..corpus.examples import keep_types
from ..errors import Errors, Warnings
from .base import Reader, WrappingReader


class RelabelledCorpus(WrappingReader):
    """Keep some entity types of a corpus and turn the others into O, in copies of the documents.

    A model thus learns that the others are no entities, as both models of the "Double" baseline do.

    corpus (Callable): Reader to relabel, a function of nlp to examples, such as spacy.Corpus.v1.
    keep (Optional[List[str]]): Types to keep. Give either this or `drop`.
    drop (Optional[List[str]]): Types to leave out.
    RETURNS (Callable): The reader, a function of nlp to examples.
    RAISES (ValueError): If not exactly one of `keep` and `drop` is a list of types (L001).
    SOURCE: Nguyen, Nguyen & Rao 2020, the training sets of the two models (docs/methods.md,
        "Subsets of a corpus").
    EXAMPLE:
        >>> from spacy_longtail.readers import RelabelledCorpus
        >>> corpus = RelabelledCorpus(lambda nlp: examples, keep=["GEO"])
        >>> [[ent.text for ent in eg.reference.ents] for eg in corpus(nlp)]
        [[], ['Key West'], [], []]
    """

    def __init__(
        self, corpus: Reader, keep: list[str] | None = None, drop: list[str] | None = None
    ) -> None:
        super().__init__(corpus)
        if bool(keep) == bool(drop) or isinstance(keep or drop, str):
            rule, value = "a list of types, and either 'keep' or 'drop'", {"keep": keep, "drop": drop}
            fix = "Name the types to keep, or those to leave out."
            raise ValueError(Errors.L001.format(name="keep", rule=rule, value=value, fix=fix))
        self.keep = frozenset(keep) if keep else None
        self.drop = frozenset(drop or ())
        self._is_checked = False

    def examples(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples of the corpus. Examples with dropped types are copies."""
        seen: set[str] = set()
        for eg in self.corpus(nlp):
            types = {ent.label_ for ent in eg.reference.ents}
            seen |= types
            yield keep_types(eg, types - self.drop if self.keep is None else types & self.keep)
        unknown = (self.keep or self.drop) - seen
        if seen and unknown and not self._is_checked:
            problem = f"has no {', '.join(sorted(unknown))}, only {', '.join(sorted(seen))}"
            warnings.warn(Warnings.W012.format(who="The corpus", problem=problem), stacklevel=2)
        self._is_checked = True
