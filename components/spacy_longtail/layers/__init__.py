"""Thinc layers with forward and backward passes of their own."""

from .listeners import listener_in
from .reading import Reading, paired_rows, sentence_rows
from .sentences import with_sentences
from .transitions import Lattice, with_transitions

__all__ = [
    "Lattice",
    "Reading",
    "listener_in",
    "paired_rows",
    "sentence_rows",
    "with_sentences",
    "with_transitions",
]
