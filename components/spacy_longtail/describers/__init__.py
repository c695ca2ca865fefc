"""Vectors of descriptions: functions from texts to one row each, of unit length."""

from .hashed import HashedDescriptions
from .static import Model2VecDescriptions, VectorDescriptions
from .transformer import TransformerDescriptions

__all__ = [
    "HashedDescriptions",
    "Model2VecDescriptions",
    "TransformerDescriptions",
    "VectorDescriptions",
]
