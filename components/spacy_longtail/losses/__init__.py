"""Losses: one a file, frozen, with exact gradients. None imports spaCy."""

from .cross_entropy import CrossEntropy
from .focal import Focal
from .mom import MoM
from .weights import InverseFrequency, LabelWeights, LogInverseFrequency

__all__ = ["CrossEntropy", "Focal", "InverseFrequency", "LabelWeights", "LogInverseFrequency", "MoM"]
