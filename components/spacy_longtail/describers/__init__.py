"""Describers: functions from descriptions to one row of unit length for each."""

from .base import Describer, as_describer
from .hashed import HashedDescriptions
from .label_encoder import LabelEncoder
from .static import SubwordDescriptions
