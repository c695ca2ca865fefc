"""What can be the name of a type: one line of text, which tables, files and configs can hold."""

import unicodedata
from functools import lru_cache

from ..errors import Errors

CONTROL = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # of Unicode; not joiners, which scripts need


@lru_cache(maxsize=1 << 16)
def check_label(label: str, where: str = "") -> str:
    """A type's name. RAISES (ValueError): L550 for one that is blank or has control characters in it."""
    problem = ""
    if not label.strip():
        problem = "it is blank"
    elif label != label.strip():
        problem = "it begins or ends with white space"
    elif any(unicodedata.category(char) in CONTROL for char in label):
        problem = "it has a line break or another control character in it"
    if problem:
        raise ValueError(Errors.L550.format(label=label[:60], where=where, problem=problem))
    return label
