"""What a corpus holds, and what that means for training on it."""

from .counting import POLICIES, corpus_statistics
from .records import MARK, Statistics, read_statistics, write_statistics

__all__ = [
    "MARK",
    "POLICIES",
    "Statistics",
    "corpus_statistics",
    "read_statistics",
    "write_statistics",
]
