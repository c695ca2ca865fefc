"""Vectors of descriptions: functions from texts to one row of unit length per text."""

from .hashed import HashedDescriptions
from .static import Model2VecDescriptions, VectorDescriptions
from .transformer import TransformerDescriptions

__all__ = [
    "HashedDescriptions",
    "Model2VecDescriptions",
    "TransformerDescriptions",
    "VectorDescriptions",
]
