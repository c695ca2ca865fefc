"""Base class of readers, and checks of the order in which they wrap each other."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

from spacy.language import Language
from spacy.training import Example, dont_augment
from spacy.util import dot_to_object

from ..corpus.examples import Reader, split_sentences, warn_of_document_annotation
from ..errors import Errors
from ..sentences import sentence_lengths
from ..types import blocks

TRAINING_READERS = ("longtail.ResampledCorpus.v1", "longtail.UndersampledCorpus.v1")


def sentences(nlp: Language, examples: Iterable[Example]) -> Iterator[Example]:
    """Yield one example per annotated sentence; a document without boundaries stays whole."""
    for eg in examples:
        if len(sentence_lengths(eg.reference)) <= 1:
            yield eg
        else:
            warn_of_document_annotation(eg)
            yield from split_sentences(eg, nlp.make_doc)


class WrappingReader(ABC):
    """Reader that wraps another reader, which it calls again for each pass."""

    counts_corpus: ClassVar[bool] = False  # whether it counts a corpus, which must not be rewritten
    yields_copies: ClassVar[bool] = False  # whether it yields copies, or parts, of sentences
    may_be_counted: ClassVar[bool] = False  # whether a reader that counts may wrap it in any case

    def __init__(self, corpus: Reader) -> None:
        inner = corpus
        while inner is not None:
            what = "copies or cuts sentences" if getattr(inner, "yields_copies", False) else ""
            if self.counts_corpus and getattr(inner, "augmenter", None) not in (None, dont_augment):
                what = "has an augmenter"
            if what and not (self.counts_corpus and getattr(inner, "may_be_counted", False)):
                shown = {"outer": type(self).__name__, "inner": type(inner).__name__, "what": what}
                raise ValueError(Errors.L108.format(**shown))
            inner = getattr(inner, "corpus", None)
        self.corpus = corpus
        self._dev_is_checked = False

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples.

        RAISES (ValueError): If a reader that changes the data is used for scores (L109).
        """
        if not self._dev_is_checked:
            if change := changed_by(nlp, "dev_corpus"):
                name = nlp.config["training"]["dev_corpus"]
                raise ValueError(Errors.L109.format(name=name, found=change))
            self._dev_is_checked = True
        yield from self.examples(nlp)

    @abstractmethod
    def examples(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples of one call."""


def changed_by(nlp: Language, which: str) -> str:
    """Return what resamples or augments a corpus of [training], or an empty string."""
    name = nlp.config["training"].get(which)
    if "corpora" not in nlp.config or not name:
        return ""
    try:
        block = dot_to_object(nlp.config.interpolate(), name)
    except KeyError:
        return ""  # spaCy says what is missing
    return next(_training_readers(block), "")


def _training_readers(block: object) -> Iterator[str]:
    """Yield the readers and augmenters that change the data, in a block and in blocks below it."""
    for inner in blocks(block if isinstance(block, dict) else {}):
        if inner.get("@readers") in TRAINING_READERS:
            yield str(inner["@readers"])
        if inner.get("augmenter"):
            yield f"the augmenter of {inner.get('@readers')}"
