"""What is wrong with a corpus, or with a config for it: what `spacy debug data` skips."""

from .config import debug_corpus
from .data import Check

__all__ = ["Check", "debug_corpus"]
