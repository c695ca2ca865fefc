"""Vectors of descriptions: functions from texts to one row of unit length per text."""

from .hashed import HashedDescriptions
from .label_encoder import LabelEncoder
from .static import SubwordDescriptions
