"""Architectures, composed from stock thinc layers and `layers/`."""

from .sentence_gate import SentenceGate
from .token_classifier import TokenClassifier

__all__ = ["SentenceGate", "TokenClassifier"]
