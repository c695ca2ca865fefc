"""Pretraining of an encoder and a described head on donors: corpora with types of their own."""

from .records import PretrainOptions
from .run import MODEL, pretrain
