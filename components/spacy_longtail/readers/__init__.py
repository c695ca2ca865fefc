"""Corpus readers that wrap corpus readers."""

from .base import Reader, sentences
from .names import create_names_corpus
from .relabelled import RelabelledCorpus
from .resampled import ResampledCorpus
from .subsets import ImbalancedCorpus, LowResourceCorpus
from .undersampled import UndersampledCorpus
