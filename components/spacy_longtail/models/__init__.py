"""Architectures, composed from stock thinc layers and `layers/`."""

from .bilstm import BiLSTM
from .concatenated_encoders import ConcatenatedEncoders
from .described_types import DescribedTypes
from .frozen_encoder import FrozenEncoder
from .mrc import MRC
from .rich_embed import RichEmbed
from .sentence_gate import SentenceGate
from .static_vectors import StaticVectors
from .token_classifier import TokenClassifier
from .torch_gates import LSTMAttentionGate, RNNCNNGate, SelfAttentionGate
from .transformer import Transformer

__all__ = [
    "MRC",
    "BiLSTM",
    "ConcatenatedEncoders",
    "DescribedTypes",
    "FrozenEncoder",
    "LSTMAttentionGate",
    "RNNCNNGate",
    "RichEmbed",
    "SelfAttentionGate",
    "SentenceGate",
    "StaticVectors",
    "TokenClassifier",
    "Transformer",
]
