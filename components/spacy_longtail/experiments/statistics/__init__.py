"""What a corpus holds, and what that means for training on it."""

from .corpus import corpus_statistics
from .plots import plot_statistics
from .sizes import POLICIES

__all__ = ["POLICIES", "corpus_statistics", "plot_statistics"]
