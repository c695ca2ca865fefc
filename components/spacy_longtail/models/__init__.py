"""Architectures, composed from stock thinc layers and `layers/`."""

from .encoders import BiLSTM, FrozenEncoder, StaticVectors
from .gates import LSTMAttentionGate, RNNCNNGate, SelfAttentionGate, SentenceGate
from .listed_names import ListedNames
from .mrc import MRC
from .rich_embed import RichEmbed
from .token_classifier import DescribedTypes, TokenClassifier
from .transformer import Transformer
