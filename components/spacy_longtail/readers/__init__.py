"""Corpus readers that wrap corpus readers, one a module."""

from .base import Reader, Unit, units
from .resampled import ResampledCorpus

__all__ = ["Reader", "ResampledCorpus", "Unit", "units"]
