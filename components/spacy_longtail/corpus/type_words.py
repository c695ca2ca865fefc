"""What an entity type is called in words, for those who declare nothing else."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import srsly

WORDS: dict[str, str] = srsly.read_yaml(Path(__file__).with_suffix(".yml"))
KNOWN = {label.casefold(): words for label, words in WORDS.items()}
# a change from lower to upper case, and a capital that begins a word after others: XMLFile
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
GAP = re.compile(r"[\W_]+")
UNFIT = re.compile(r"[:=]|^[#;@\[]")  # what the key of a config cannot have in it, or begin with
REFERENCE = "$"  # of a config, to another of its values; doubled each time that one is saved


def words_of(label: str) -> str:
    """A description of a type from its name.

    label (str): Such as "GPE", "CreativeWork" or "cell_type".
    RETURNS (str): "country, state or nationality", "creative work", "cell type"; the label itself
        where it has neither letter nor digit.
    """
    if label.casefold() in KNOWN:
        return KNOWN[label.casefold()]
    return " ".join(HUMP.sub(" ", part) for part in GAP.split(label) if part).casefold() or label


def in_words(labels: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Types in words, in this order: as given, else by their names."""
    return {label: given.get(label, words_of(label)) for label in labels}


def type_words(labels: list[str], descriptions: dict[str, str]) -> dict[str, str]:
    """Types in words, for settings of components that want them so, such as those of spacy-llm.

    labels (List[str]): The types, in this order.
    descriptions (Dict[str, str]): What they are, by type; others are described by their names.
    RETURNS (Dict[str, str]): By type.
    """
    return in_words(labels, descriptions)


def problem_of_texts(texts: Mapping[str, str]) -> str:
    """What is wrong with descriptions, in words; "" for nothing.

    texts (Mapping[str, str]): By type, without white space at the ends.
    """
    seen: dict[str, str] = {}
    for label, text in texts.items():
        if not text:
            return f"a blank text for {label}"
        if (other := seen.setdefault(text.casefold(), label)) != label:
            return f"the same text for {other} and {label}: {text!r}"
    return ""


def problem_in_config(texts: Mapping[str, str]) -> str:
    """What keeps descriptions from standing in a config, in words; "" for nothing."""
    for label, text in texts.items():
        if UNFIT.search(label):
            return f"the type {label!r}: no config holds one with ':' or '=', or that begins with #;@["
        if REFERENCE in text:
            return f"{REFERENCE!r} in the text of {label}, by which a config means another of its values"
    return ""
