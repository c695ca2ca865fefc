"""How sure a NER score is, and whether a difference between two systems is more than chance."""

from .bootstrap import Interval, intervals, paired_bootstrap
from .metrics import MentionCounts, Metric, Unit, mention_counts, named_metrics, stack
from .paired import PairedT, bootstrap_standard_error, holm, paired_permutation, paired_t
from .verdicts import LEAST_SEEDS, NO_CLAIM, Verdict, corrected, corrected_by_score, describe, judge
