"""New forward and backward pairs."""

from .sentences import with_sentences

__all__ = ["with_sentences"]
