"""Thinc layers with forward and backward passes of their own."""

from .listeners import listener_in, warn_of_zeros
from .reading import Reading, paired_rows, sentence_rows
from .sentences import with_sentences
from .transitions import Lattice, with_transitions

__all__ = [
    "Lattice",
    "Reading",
    "listener_in",
    "paired_rows",
    "sentence_rows",
    "warn_of_zeros",
    "with_sentences",
    "with_transitions",
]
