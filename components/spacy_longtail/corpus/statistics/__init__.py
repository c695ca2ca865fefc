"""What a corpus holds, and what that means for training on it."""

from .corpus import corpus_statistics
from .records import MARK, Statistics, read_statistics, statistics_text, write_statistics
from .sizes import POLICIES

__all__ = [
    "MARK",
    "POLICIES",
    "Statistics",
    "corpus_statistics",
    "read_statistics",
    "statistics_text",
    "write_statistics",
]
