"""The tag codec: spans to tag ids and back, and which tag may follow which. Column 0 is O.

Nothing else in the package knows the order of tags.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Floats1d, Floats2d, Ints1d

from .packing import Transitions

Scheme = Literal["BIO", "BILUO"]
ILLEGAL = -np.inf  # no learnt score makes up for it


class TagSpans(NamedTuple):
    start: Ints1d  # (n_spans,), first token
    end: Ints1d  # (n_spans,), one past the last token
    label: Ints1d  # (n_spans,), index into the codec's labels


@dataclass(frozen=True)
class TagCodec:
    """Spans of some types as one tag per token."""

    labels: tuple[str, ...]
    scheme: Scheme = "BILUO"

    @property
    def prefixes(self) -> str:
        return self.scheme.replace("O", "")

    @property
    def tags(self) -> list[str]:
        """All tags, O first: the columns of every logit matrix."""
        return ["O"] + [f"{p}-{label}" for label in self.labels for p in self.prefixes]

    def __len__(self) -> int:
        return 1 + len(self.labels) * len(self.prefixes)

    def layout(self) -> tuple[Ints1d, Ints1d]:
        """The indices of the type and prefix of each column; O has the type -1. (n_tags,) each."""
        label, prefix = np.divmod(np.arange(len(self)) - 1, len(self.prefixes))
        return label, np.where(label < 0, 0, prefix)

    def columns(self, labels: Collection[str]) -> Floats1d:
        """1.0 for O and the tags of some types, 0.0 for others. (n_tags,)"""
        is_known = np.array([True, *(label in labels for label in self.labels)])
        return is_known[self.layout()[0] + 1].astype("float32")

    def beginnings(self) -> Floats2d:
        """1.0 where a tag begins an entity of a type. (n_tags, n_types)"""
        label, prefix = self.layout()
        begins = np.array([p in "BU" for p in self.prefixes])[prefix]
        return ((label[:, None] == np.arange(len(self.labels))) & begins[:, None]).astype("float32")

    def token_tags(self, columns: Ints1d) -> tuple[Ints1d, Ints1d, Ints1d]:
        """Whether a token is in an entity and begins one; its type, 0 outside. (n_tokens,) each."""
        label, prefix = (of_column[columns] for of_column in self.layout())
        begins = np.array([p in "BU" for p in self.prefixes])[prefix]
        return label >= 0, (label >= 0) & begins, np.maximum(label, 0)

    def spans(self, columns: Ints1d) -> TagSpans:
        """The entities of a legal tag sequence, or of several one after another. (n_tokens,) in."""
        label, prefix = np.divmod(columns - 1, len(self.prefixes))
        entity = columns > 0
        inside = entity & ((prefix == 1) | (prefix == 2))
        goes_on = np.append(inside, False)[1:]
        start = np.flatnonzero(entity & ~inside)
        return TagSpans(start, np.flatnonzero(entity & ~goes_on) + 1, label[start])

    def gold(
        self, iob: Ints1d, label: Ints1d, lengths: Ints1d, are_others_o: bool = True
    ) -> tuple[Ints1d, Floats1d]:
        """Gold tags and mask from entity boundaries and types, the sentences one after another.

        An entity across a sentence start cannot be predicted, and counts as not annotated.

        iob (Ints1d): (n_tokens,), spaCy's codes: 0 no annotation, 1 inside, 2 outside, 3 begins.
        label (Ints1d): (n_tokens,), index into `labels`, -1 for other types; read in entities only.
        lengths (Ints1d): (n_sentences,), tokens per sentence.
        are_others_o (bool): Whether entities of other types are O; else they are not annotated.
        RETURNS (Tuple[Ints1d, Floats1d]): (n_tokens,) columns; (n_tokens,) 0.0 where not annotated.
        """
        lengths = lengths[lengths > 0]
        first = np.zeros(len(iob), dtype=bool)
        first[np.cumsum(lengths) - lengths] = True
        inside = iob == 1
        group = np.cumsum(~inside)  # an entity's tokens share one number
        opener = np.concatenate([[0], iob[~inside]])[group]
        broken = np.zeros(len(iob) + 1, dtype=bool)
        broken[group[inside & first]] = True
        entity = inside | (iob == 3)
        known = entity & (label >= 0)
        mask = (iob > 0) & ~(entity & (broken[group] | (opener != 3)))
        if not are_others_o:
            mask &= ~(entity & ~known)
        goes_on = np.append(inside, False)[1:]
        prefix = np.where(inside, np.where(goes_on, 1, 2), np.where(goes_on, 0, 3))
        if self.scheme == "BIO":
            prefix = inside.astype("int64")
        column = 1 + label * len(self.prefixes) + prefix
        return np.where(known & mask, column, 0), mask.astype("float32")

    def rows(self, columns: Ints1d) -> Floats2d:
        """One row per tag, 1.0 in its column. (n_tokens, n_tags)"""
        gold = np.zeros((len(columns), len(self)), dtype="float32")
        gold[np.arange(len(columns)), columns] = 1.0
        return gold

    def values(self, by_class: Mapping[str, float]) -> Floats1d:
        """Numbers by tag, or by type, as one per column; 1.0 for others. (n_tags,)"""
        values = [by_class.get(tag, by_class.get(tag[2:], 1.0)) for tag in self.tags]
        return np.asarray(values, dtype="float32")

    def legality(self) -> Transitions:
        """Additive scores: 0, or `ILLEGAL`. All O is always legal."""
        tags = self.tags
        opens = np.array([t[0] in "OBU" for t in tags])
        closes = np.array([self.scheme == "BIO" or t[0] in "OLU" for t in tags])
        continues = np.array(
            [[a[0] in "BI" and b[0] in "IL" and a[2:] == b[2:] for b in tags] for a in tags]
        )
        legal = opens, (closes[:, None] & opens[None, :]) | continues, closes
        return Transitions(*(np.where(ok, 0.0, ILLEGAL).astype("float32") for ok in legal))
