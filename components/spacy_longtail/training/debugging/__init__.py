"""What is wrong with a corpus, or with a config for it."""

from .checks import Check
from .debug import debug_corpus

__all__ = ["Check", "debug_corpus"]
