"""Scores: entities against a declared label set, the tags of words, and the gate's own."""

from .gate import make_gate_scorer
from .ner import NER_SCORE_WEIGHTS, make_ner_scorer
