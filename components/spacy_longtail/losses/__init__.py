"""Losses: one per file, frozen, with exact gradients. None imports spaCy."""

from .auc_margin import AUCMargin
from .compositional_auc import CompositionalAUC
from .cross_entropy import CrossEntropy
from .dice import Dice
from .distillation import Distillation
from .focal import Focal
from .mom import MoM
from .one_versus_rest_focal import OneVersusRestFocal
from .two_task_cross_entropy import TwoTaskCrossEntropy
from .weights import EffectiveNumber, InverseFrequency, LabelWeights, LogInverseFrequency

__all__ = [
    "AUCMargin",
    "CompositionalAUC",
    "CrossEntropy",
    "Dice",
    "Distillation",
    "EffectiveNumber",
    "Focal",
    "InverseFrequency",
    "LabelWeights",
    "LogInverseFrequency",
    "MoM",
    "OneVersusRestFocal",
    "TwoTaskCrossEntropy",
]
