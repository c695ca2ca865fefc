"""What a pipeline gets wrong, and where: one evaluation taken apart."""

from .analyse import analyse
from .records import Analysis
from .seen import TrainingMentions, read_training

__all__ = ["Analysis", "TrainingMentions", "analyse", "read_training"]
