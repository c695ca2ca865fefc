"""Plots of the report, one module each."""

from .curves import MOST as MOST
from .curves import Line as Line
from .curves import learning_curves as learning_curves
from .curves import size_curves as size_curves
from .dumbbells import dumbbells as dumbbells
