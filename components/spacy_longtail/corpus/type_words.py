"""Descriptions of entity types in English words, made from the names of types without one."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import srsly

# a change from lower to upper case, and a capital that begins a word after others: XMLFile
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
GAP = re.compile(r"[\W_]+")
UNFIT = re.compile(r"[:=]|^[#;@\[]")  # characters that a config's key cannot contain, or start with
REFERENCE = "$"  # reference to another value of a config; doubled whenever a config is saved


def _plain(label: str) -> str:
    """Return a name without case, accents and what separates its words."""
    apart = unicodedata.normalize("NFD", GAP.sub(" ", label).strip().casefold())
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


# plain name of a type to its description: common tags, and names in several languages
KNOWN: dict[str, str] = {
    _plain(name): words
    for words, names in srsly.read_yaml(Path(__file__).with_suffix(".yml")).items()
    for name in names
}


def words_of(label: str) -> str:
    """Return a description of a type in English words, made from its name.

    label (str): Name of the type, such as "GPE", "CreativeWork", "cell_type" or "Krankheit".
    RETURNS (str): The description, such as "country, state or nationality", "creative work", "cell
        type" or "disease". A label with neither letter nor digit describes itself.
    """
    known = KNOWN.get(_plain(label))
    return words_in(label) if known is None else known


def words_in(label: str) -> str:
    """Return the words that a name is made of, in lower case; the name itself if it has none."""
    return " ".join(HUMP.sub(" ", part) for part in GAP.split(label) if part).casefold() or label


def type_words(labels: list[str], descriptions: dict[str, str]) -> dict[str, str]:
    """Return descriptions of types in words, for components that need them, as those of spacy-llm.

    labels (List[str]): Types to describe, in the order of the result.
    descriptions (Dict[str, str]): Descriptions by type. Other types are described by their names.
    RETURNS (Dict[str, str]): Descriptions by type. If two names have the same known description, as
        Land and Staat do, the second is described by its own words.
    EXAMPLE:
        >>> from spacy_longtail.corpus.type_words import type_words
        >>> type_words(["EVE", "CreativeWork"], {"EVE": "named storm"})
        {'EVE': 'named storm', 'CreativeWork': 'creative work'}
    """
    texts: dict[str, str] = {}
    for label in labels:
        made = words_of(label)
        texts[label] = descriptions.get(label, words_in(label) if made in texts.values() else made)
    return texts


def problem_of_texts(texts: Mapping[str, str]) -> str:
    """Return what is wrong with descriptions, or "".

    texts (Mapping[str, str]): Descriptions by type, without white space at the ends.
    """
    seen: dict[str, str] = {}
    for label, text in texts.items():
        if not text:
            return f"a blank text for {label}"
        if (other := seen.setdefault(text.casefold(), label)) != label:
            return f"the same text for {other} and {label}: {text!r}"
    return ""


def problem_in_config(texts: Mapping[str, str]) -> str:
    """Return why descriptions cannot be written to a config, or ""."""
    for label, text in texts.items():
        if UNFIT.search(label):
            return f"the type {label!r}: no key of a config contains ':' or '=', or starts with #;@["
        if REFERENCE in text:
            return f"{REFERENCE!r} in the text of {label}, which a config would replace by another value"
    return ""
