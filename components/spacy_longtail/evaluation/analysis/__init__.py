"""What a pipeline gets wrong, and where: one evaluation taken apart."""

from .analyse import analyse
from .training import TrainingMentions, read_training

__all__ = ["TrainingMentions", "analyse", "read_training"]
