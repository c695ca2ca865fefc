"""Architectures, composed from stock thinc layers and `layers/`."""

from .classifiers import (
    DescribedTypes,
    LSTMAttentionGate,
    RNNCNNGate,
    SelfAttentionGate,
    SentenceGate,
    TokenClassifier,
)
from .encoders import BiLSTM, FrozenEncoder, StaticVectors
from .listed_names import ListedNames
from .mrc import MRC
from .rich_embed import RichEmbed
from .transformer import Transformer
