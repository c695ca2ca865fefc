"""What describers share."""

import re

import numpy as np
from thinc.types import Floats2d

WORD = re.compile(r"\w+(?:[-']\w+)*")
TINY = 1e-12


def words(text: str) -> list[str]:
    """The words of a description."""
    return WORD.findall(text)


def unit_rows(rows: Floats2d) -> Floats2d:
    """Rows of length 1; a row of zeros stays."""
    rows = np.asarray(rows, dtype="float32")
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)
