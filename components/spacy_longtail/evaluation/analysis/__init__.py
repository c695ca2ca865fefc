"""What a pipeline gets wrong, and where: one evaluation taken apart."""

from .analyse import TrainingMentions as TrainingMentions
from .analyse import analyse as analyse
from .analyse import read_training as read_training
