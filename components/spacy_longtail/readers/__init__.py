"""Corpus readers that wrap corpus readers, one per module."""

from .base import Reader, Unit, units
from .few_mentions import FewMentionsCorpus
from .relabelled import RelabelledCorpus
from .resampled import ResampledCorpus
from .subsets import ImbalancedCorpus, LowResourceCorpus
from .undersampled import UndersampledCorpus

__all__ = [
    "FewMentionsCorpus",
    "ImbalancedCorpus",
    "LowResourceCorpus",
    "Reader",
    "RelabelledCorpus",
    "ResampledCorpus",
    "UndersampledCorpus",
    "Unit",
    "units",
]
