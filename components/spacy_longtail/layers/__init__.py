"""New forward and backward pairs."""

from .reading import Reading, paired_rows, sentence_rows
from .sentences import with_sentences
from .transitions import Lattice, with_transitions

__all__ = [
    "Lattice",
    "Reading",
    "paired_rows",
    "sentence_rows",
    "with_sentences",
    "with_transitions",
]
