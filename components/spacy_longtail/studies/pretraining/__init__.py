"""Pretraining of an encoder and a described head on several corpora with types of their own."""

from .dry_run import pretraining_outlook
from .encoders import ENCODERS
from .run import Options, pretrain

__all__ = ["ENCODERS", "Options", "pretrain", "pretraining_outlook"]
