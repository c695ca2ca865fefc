"""Heads: how the outputs of a token classifier become a loss in training, and tags in prediction."""

from .base import Decoded, Gold, Head, Scores, Trained
from .crf import CRFHead
from .softmax import SigmoidHead, SoftmaxHead
from .two_task import TwoTaskHead

HEADS: dict[str, type[Head]] = {h.name: h for h in (SoftmaxHead, SigmoidHead, CRFHead, TwoTaskHead)}

SOFT_HEADS = ("softmax", "crf")  # whose marginals are a distribution over tags

__all__ = ["HEADS", "SOFT_HEADS", "Decoded", "Gold", "Head", "Scores", "Trained"]
