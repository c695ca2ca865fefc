"""What a secondary was given and what came back, counted."""

from dataclasses import asdict, dataclass, fields, replace

from spacy.tokens import Doc

from ...corpus.sentences import sentence_lengths
from ..gate.weak_sentences import Parts
from ..locks import Lock


@dataclass
class Usage:
    """Counts since the pipe was loaded, or since `clear`; in other processes they are those of each."""

    sentences: int = 0  # of the documents, flagged or not
    flagged: int = 0  # sentences
    words: int = 0  # tokens of these
    calls: int = 0  # sentences given to the secondary; again, where their batch has failed
    entities: int = 0  # added to documents
    refused: int = 0  # entities of types that the pipe may not set
    failures: int = 0  # sentences that the secondary failed on
    seconds: float = 0.0  # spent in the secondary

    def __post_init__(self) -> None:
        self._lock = Lock()

    @property
    def share(self) -> float:
        """Of the sentences, how many are flagged. In [0, 1]."""
        return self.flagged / self.sentences if self.sentences else 0.0

    def add_document(self, doc: Doc, parts: Parts) -> None:
        """Count the sentences of a document, and those that are flagged. parts (Parts): These."""
        n_words = sum(end - start for start, end in parts)
        self.add(sentences=len(sentence_lengths(doc)), flagged=len(parts), words=n_words)

    def add(self, **counts: float) -> "Usage":
        """Add to counts by their names, whatever other threads add. RETURNS (Usage): As it is then."""
        with self._lock:
            for name, n in counts.items():
                setattr(self, name, getattr(self, name) + n)
            return replace(self)

    def clear(self) -> None:
        """Begin to count anew."""
        with self._lock:
            for field in fields(self):
                setattr(self, field.name, field.default)

    def as_json(self) -> dict[str, int | float]:
        return asdict(self)
