"""Corpus readers. Most of them wrap another reader."""

from .base import Reader, sentences
from .names import create_names_corpus
from .relabelled import RelabelledCorpus
from .resampled import ResampledCorpus
from .subsets import ImbalancedCorpus, LowResourceCorpus
from .undersampled import UndersampledCorpus
