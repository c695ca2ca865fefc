"""New forward and backward pairs."""

from .sentences import with_sentences
from .transitions import Lattice, with_transitions

__all__ = ["Lattice", "with_sentences", "with_transitions"]
