"""What can be the name of a type: one line of text, which tables, files and configs can hold."""

import unicodedata
from functools import lru_cache

from ..errors import Errors

CONTROL = ("Cc", "Cs", "Zl", "Zp")  # of Unicode; not joiners, which scripts need

TAKEN = {  # names that mean something else beside types, by what they mean
    "O": "class weights and reports call tokens outside entities so",
    "*": "the calibration of rare types together has this name",
}


@lru_cache(maxsize=1 << 16)
def check_label(label: object, where: str = "") -> str:
    """A type's name. RAISES (ValueError): L550 for one that is no text, is blank, has control characters
    or a $ in it, or means something else."""
    if not isinstance(label, str):
        raise ValueError(Errors.L550.format(label=label, where=where, problem="it is no text"))
    problem = ""
    if not label.strip():
        problem = "it is blank"
    elif label != label.strip():
        problem = "it begins or ends with white space"
    elif any(unicodedata.category(char) in CONTROL for char in label):
        problem = "it has a line break or another control character in it"
    elif "$" in label:
        problem = "it has a $ in it, which a config doubles each time that it is saved"
    elif label in TAKEN:
        problem = TAKEN[label]
    if problem:
        raise ValueError(Errors.L550.format(label=label[:60], where=where, problem=problem))
    return label
