"""Pretraining of an encoder and a described head on several corpora with types of their own."""

from .dry_run import pretraining_outlook
from .learner import Options
from .run import pretrain

__all__ = ["Options", "pretrain", "pretraining_outlook"]
