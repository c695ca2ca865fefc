"""Losses: frozen values with exact gradients. None imports spaCy."""

from .dice import Dice
from .distillation import Distillation
from .mom import MoM
from .one_versus_rest_focal import OneVersusRestFocal
from .token import CrossEntropy, Focal
from .two_task import AUCMargin, CompositionalAUC, TwoTaskCrossEntropy
from .weights import InverseFrequency, LabelWeights, LogInverseFrequency

__all__ = [
    "AUCMargin",
    "CompositionalAUC",
    "CrossEntropy",
    "Dice",
    "Distillation",
    "Focal",
    "InverseFrequency",
    "LabelWeights",
    "LogInverseFrequency",
    "MoM",
    "OneVersusRestFocal",
    "TwoTaskCrossEntropy",
]
