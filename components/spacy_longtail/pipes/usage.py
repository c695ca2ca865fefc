"""What a secondary was given and what came back, counted."""

from dataclasses import asdict, dataclass

import numpy as np
from spacy.tokens import Doc

from ..corpus.examples import sentence_lengths
from .weak_sentences import Parts


@dataclass
class Usage:
    """Counts since the pipe was loaded, or since `clear`; in other processes they are those of each."""

    sentences: int = 0  # of the documents, flagged or not
    flagged: int = 0  # sentences of which at least a part is flagged
    words: int = 0  # tokens of the flagged parts
    calls: int = 0  # parts that the secondary was given, a second try of one counts as well
    entities: int = 0  # added to documents
    refused: int = 0  # entities of types that the pipe may not set
    failures: int = 0  # parts that the secondary failed on
    seconds: float = 0.0  # spent in the secondary

    @property
    def share(self) -> float:
        """Of the sentences, how many are flagged. In [0, 1]."""
        return self.flagged / self.sentences if self.sentences else 0.0

    def add_document(self, doc: Doc, parts: Parts) -> None:
        """Count the sentences of a document, and those that a part of is flagged."""
        ends = np.cumsum(sentence_lengths(doc))
        self.sentences += len(ends)
        if parts:
            starts, stops = np.asarray(parts).T
            first = np.searchsorted(ends, starts, side="right")
            last = np.searchsorted(ends, stops - 1, side="right")
            before = np.concatenate([[-1], np.maximum.accumulate(last)[:-1]])
            self.flagged += int(np.maximum(last - np.maximum(first, before + 1) + 1, 0).sum())
            self.words += int((stops - starts).sum())

    def clear(self) -> None:
        """Begin to count anew."""
        self.__init__()  # type: ignore[misc]

    def as_json(self) -> dict[str, int | float]:
        return asdict(self)
