"""Plots of the report and of the matrix, one module each."""

from .curves import size_curves as size_curves
from .dumbbells import dumbbells as dumbbells
