"""Losses: frozen values with exact gradients. None imports spaCy."""

from .base import BinaryLoss, GoldLoss, Loss, SoftmaxLoss, TwoTaskGold, TwoTaskLoss, check_loss
from .dice import Dice
from .distillation import Distillation
from .token import CrossEntropy, Focal, MoM, OneVersusRestFocal
from .two_task import AUCMargin, CompositionalAUC, TwoTaskCrossEntropy
from .weights import InverseFrequency, LabelWeights, LogInverseFrequency
