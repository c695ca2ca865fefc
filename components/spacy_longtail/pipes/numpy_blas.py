"""Old place of `create_numpy_blas`, for environments that were installed before it moved."""

from ..layers.serving import create_numpy_blas as create_numpy_blas
