"""The units that are divided: documents or sentences, what they hold, and which stay together."""

from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from thinc.types import Ints1d, Ints2d

from .counts import count_docs
from .cutting import sentence_docs
from .sentences import sentence_lengths
from .splits import bound_groups, stratify


class Units(NamedTuple):
    docs: list[Doc]
    labels: list[str]
    mentions: Ints2d  # (n_units, n_types)
    sizes: Ints1d  # (n_units,), sentences


def divide(docs: list[Doc], unit: str, declared: list[str]) -> Units:
    """The units of a corpus.

    declared (List[str]): Types that come first among the labels, whether they occur or not.
    """
    found = docs if unit == "doc" else [part for doc in docs for part in sentence_docs(doc)]
    labels = list(dict.fromkeys([*declared, *count_docs(docs).labels]))
    column = {label: i for i, label in enumerate(labels)}
    mentions = np.zeros((len(found), len(labels)), dtype="int64")
    for row, doc in zip(mentions, found, strict=True):
        for ent in doc.ents:
            row[column[ent.label_]] += 1
    sizes = np.array([max(len(sentence_lengths(doc)), 1) for doc in found])
    return Units(found, labels, mentions, sizes)


def plain_text(text: str) -> str:
    """The text by which duplicates are known: without white space, which tokens may have or not."""
    return "".join(text.split()).casefold()


def assign(units: Units, groups: Ints1d, shares: list[float], least: int, seed: int) -> Ints1d:
    """The part of each unit, as `stratify` gives it to whole groups."""
    amounts = np.zeros((int(groups.max()) + 1, len(units.labels) + 1), dtype="int64")
    np.add.at(amounts, groups, np.hstack([units.mentions, units.sizes[:, None]]))
    return stratify(amounts[:, :-1], amounts[:, -1], shares, least, seed)[groups]


def document_folds(docs: list[Doc], folds: int, seed: int = 0) -> Ints1d:
    """The fold of each document: stratified over types, documents of the same text together."""
    groups = bound_groups([plain_text(doc.text) for doc in docs])
    return assign(divide(docs, "doc", []), groups, [1 / folds] * folds, 1, seed)
