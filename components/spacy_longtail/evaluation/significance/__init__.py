"""Significance tests of differences between systems, and confidence intervals of scores."""

from .decisions import (
    ALPHA,
    MIN_UNITS,
    TOO_EARLY,
    TOO_FEW,
    Decision,
    Interval,
    compare,
    correct,
    holm,
    intervals,
)
from .metrics import MACRO, MentionCounts, Metric, mention_counts, named_metrics, stack
from .wording import change, describe, headline, how_tested, outcome_in_words, primary_is
