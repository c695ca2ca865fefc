"""Heads: turn a token model's outputs into a loss in training, and into tags in prediction."""

from typing import Literal

from .base import Decoded, Gold, Head, Scores, Trained
from .crf import CRFHead
from .tags import SigmoidHead, SoftmaxHead
from .two_task import TwoTaskHead

HEADS: dict[str, type[Head]] = {h.name: h for h in (SoftmaxHead, SigmoidHead, CRFHead, TwoTaskHead)}

HeadName = Literal["softmax", "sigmoid", "crf", "two_task"]

SOFT_HEADS = ("softmax", "crf")  # whose marginals are a distribution over tags
