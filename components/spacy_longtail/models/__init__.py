"""Architectures, composed from stock thinc layers and `layers/`."""

from .bilstm import BiLSTM
from .char_cnn import CharCNN
from .concatenated_encoders import ConcatenatedEncoders
from .encoder_states import EncoderStates
from .frozen_encoder import FrozenEncoder
from .mrc import MRC
from .sentence_gate import SentenceGate
from .static_vectors import StaticVectors
from .token_classifier import TokenClassifier
from .torch_gates import LSTMAttentionGate, RNNCNNGate, SelfAttentionGate

__all__ = [
    "MRC",
    "BiLSTM",
    "CharCNN",
    "ConcatenatedEncoders",
    "EncoderStates",
    "FrozenEncoder",
    "LSTMAttentionGate",
    "RNNCNNGate",
    "SelfAttentionGate",
    "SentenceGate",
    "StaticVectors",
    "TokenClassifier",
]
