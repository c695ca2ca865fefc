"""What a corpus holds, and what that means for training on it."""

from .corpus import MARK, corpus_statistics
from .plots import check_plot, plot_statistics
from .sizes import POLICIES

__all__ = ["MARK", "POLICIES", "check_plot", "corpus_statistics", "plot_statistics"]
