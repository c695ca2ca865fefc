"""spaCy augmenters for NER, one per module."""

from .base import Augmenter
from .mention_replacement import MentionReplacement
from .one_of import OneOf
from .segment_shuffle import SegmentShuffle
from .synonym_replacement import SynonymReplacement
from .token_replacement import TokenReplacement
