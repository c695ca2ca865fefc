"""Types left out of a corpus."""

import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar, Literal

from spacy.language import Language
from spacy.training import Example

from ..corpus.examples import keep_types
from ..errors import Errors, Warnings
from ..settings import one_of
from .base import Reader, WrappingReader


class RelabelledCorpus(WrappingReader):
    """Keep some entity types of a corpus and leave the others out, in copies of the documents.

    With `others = "O"` a model learns that the other types are not entities, as the two models of the
    "Double" baseline do; with "missing" it learns nothing about their tokens.

    corpus (Callable): The reader to relabel, nlp to examples, such as spacy.Corpus.v1.
    keep (Optional[List[str]]): The types to keep. Either this or `drop`.
    drop (Optional[List[str]]): The types to leave out.
    others (str): What becomes of tokens of types left out: "O", or "missing" for no annotation.
    SOURCE: Nguyen, Nguyen & Rao 2020, the training sets of the two models (docs/methods.md, "Subsets
        of a corpus").
    """

    refuses: ClassVar[Mapping[str, str]] = {
        "UndersampledCorpus": "it keeps the words beside types that are then left out. "
        "Wrap them the other way round",
        "ResampledCorpus": "the copies were counted by types that are then left out. "
        "Wrap them the other way round",
    }

    def __init__(
        self,
        corpus: Reader,
        keep: list[str] | None = None,
        drop: list[str] | None = None,
        others: Literal["O", "missing"] = "O",
    ) -> None:
        super().__init__(corpus)
        one_of("others", others, ("O", "missing"))
        given = keep if keep is not None else drop
        is_list = isinstance(given, (list, tuple)) and all(isinstance(t, str) for t in given)
        if (keep is None) == (drop is None) or not is_list or not given:
            raise ValueError(Errors.L121.format(keep=keep, drop=drop))
        self.keep = None if keep is None else frozenset(keep)
        self.drop = frozenset(drop or ())
        self.others: Literal["O", "missing"] = others
        self._is_checked = False

    def examples(self, nlp: Language) -> Iterator[Example]:
        """The corpus's examples; those with types left out are copies."""
        seen: set[str] = set()
        for eg in self.corpus(nlp):
            own = {ent.label_ for ent in eg.reference.ents}
            seen |= own
            yield keep_types(eg, self._kept(own), self.others)
        if not self._is_checked:
            self._is_checked = True
            unknown = (self.keep or self.drop) - seen
            if seen and unknown:
                found = Warnings.W014.format(unknown=_named(unknown), known=_named(seen))
                warnings.warn(found, stacklevel=2)

    def _kept(self, labels: set[str]) -> Collection[str]:
        return labels - self.drop if self.keep is None else labels & self.keep


def _named(labels: Collection[str]) -> str:
    return ", ".join(sorted(labels))
