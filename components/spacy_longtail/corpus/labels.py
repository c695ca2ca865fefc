"""Checks of the names of types, which must fit on a line of tables, files and configs."""

import unicodedata
from functools import lru_cache

from spacy.language import Language

from ..errors import Errors

CONTROL = ("Cc", "Cs", "Zl", "Zp")  # of Unicode; not joiners, which scripts need
# class weights and reports call tokens outside entities O, the calibration of rare types together *
TAKEN = ("O", "*")


def check_label(label: object, where: str = "") -> str:
    """Return the name of a type, checked.

    label (object): The name.
    where (str): Its place, for the error.
    RAISES (ValueError): If it cannot be the name of a type (L550).
    """
    problem = _problem_of(label) if isinstance(label, str) else "it is no text"
    if problem:
        raise ValueError(Errors.L550.format(label=str(label)[:60], where=where, problem=problem))
    return str(label)


def declared_types(nlp: Language | None) -> list[str]:
    """Return the types that a pipeline's config declares; the data may lack mentions of them.

    nlp (Optional[Language]): A pipeline; null declares nothing.
    RETURNS (List[str]): `labels` in its section [longtail], which `train` copies from types.json.
    """
    section = {} if nlp is None else nlp.config.interpolate().get("longtail", {})
    return list(section.get("labels") or ())


@lru_cache(maxsize=1 << 16)
def _problem_of(label: str) -> str:
    if not label or label != label.strip():
        return "it is blank, or begins or ends with white space"
    if any(unicodedata.category(char) in CONTROL or char == "$" for char in label):
        return "it has a line break, another control character or a $, which configs double, in it"
    return "the name has another meaning" if label in TAKEN else ""
