"""Tag codec: converts spans to tags and back, and knows which tag may follow which.

Column 0 is O. No other module of the package knows the order of tags.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Floats1d, Floats2d, Ints1d

from .packing import Transitions

Scheme = Literal["BIO", "BILUO"]
ILLEGAL = -np.inf  # score of impossible tags and tag pairs, whatever the learnt scores are


class TagSpans(NamedTuple):
    """Entities as columns."""

    start: Ints1d  # (n_spans,), first token
    end: Ints1d  # (n_spans,), one past the last token
    label: Ints1d  # (n_spans,), index into the codec's labels


@dataclass(frozen=True)
class TagCodec:
    """Codec of entities as one tag per token.

    labels (Tuple[str, ...]): Entity types, in the order of their tags.
    scheme (str): "BIO" or "BILUO".
    """

    labels: tuple[str, ...]
    scheme: Scheme = "BILUO"

    @property
    def prefixes(self) -> str:
        """Return the prefixes of the tags of a type, in order."""
        return self.scheme.replace("O", "")

    @property
    def tags(self) -> list[str]:
        """Return all tags in the order of the columns of logits, O first."""
        return ["O"] + [f"{p}-{label}" for label in self.labels for p in self.prefixes]

    def __len__(self) -> int:
        return 1 + len(self.labels) * len(self.prefixes)

    def layout(self) -> tuple[Ints1d, Ints1d]:
        """Return the indices of type and prefix of each column, shape (n_tags,); O has type -1."""
        label, prefix = np.divmod(np.arange(len(self)) - 1, len(self.prefixes))
        return label, np.where(label < 0, 0, prefix)

    def columns(self, labels: Collection[str]) -> Floats1d:
        """Return 1.0 for O and the tags of some types, 0.0 for other tags, shape (n_tags,)."""
        is_known = np.array([True, *(label in labels for label in self.labels)])
        return is_known[self.layout()[0] + 1].astype("float32")

    def beginnings(self) -> Floats2d:
        """Return 1.0 where a tag begins an entity of a type, shape (n_tags, n_types)."""
        _, begins, label = self.token_tags(np.arange(len(self)))
        return ((label[:, None] == np.arange(len(self.labels))) & begins[:, None]).astype("float32")

    def token_tags(self, columns: Ints1d) -> tuple[Ints1d, Ints1d, Ints1d]:
        """Return whether each token is in an entity, whether it begins one, and its type.

        columns (Ints1d): Columns of tags, shape (n_tokens,).
        RETURNS (Tuple[Ints1d, Ints1d, Ints1d]): Shape (n_tokens,) each; the type is 0 outside of
            entities.
        """
        label, prefix = (of_column[columns] for of_column in self.layout())
        begins = np.array([p in "BU" for p in self.prefixes])[prefix]
        return label >= 0, (label >= 0) & begins, np.maximum(label, 0)

    def spans(self, columns: Ints1d) -> TagSpans:
        """Return the entities of legal tag sequences, one after another.

        columns (Ints1d): Columns of tags, shape (n_tokens,).
        """
        label, prefix = np.divmod(columns - 1, len(self.prefixes))
        entity = columns > 0
        inside = entity & ((prefix == 1) | (prefix == 2))
        continues = np.append(inside, False)[1:]
        start = np.flatnonzero(entity & ~inside)
        return TagSpans(start, np.flatnonzero(entity & ~continues) + 1, label[start])

    def encode(
        self, iob: Ints1d, label: Ints1d, lengths: Ints1d, are_others_o: bool = True
    ) -> tuple[Ints1d, Floats1d]:
        """Return tags and mask from spaCy's codes and types, the sentences one after another.

        An entity across a sentence boundary cannot be predicted and counts as not annotated.

        iob (Ints1d): spaCy's codes, shape (n_tokens,): 0 missing, 1 inside, 2 outside, 3 begins.
        label (Ints1d): Index into `labels`, shape (n_tokens,), -1 for other types. It is ignored
            outside of entities.
        lengths (Ints1d): Tokens per sentence, shape (n_sentences,).
        are_others_o (bool): Whether entities of other types are O; otherwise they count as not
            annotated.
        RETURNS (Tuple[Ints1d, Floats1d]): Columns of tags, and a mask that is 0.0 for tokens
            without annotation, shape (n_tokens,) each.
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
        continues = np.append(inside, False)[1:]
        prefix = np.where(inside, np.where(continues, 1, 2), np.where(continues, 0, 3))
        if self.scheme == "BIO":
            prefix = inside.astype("int64")
        column = 1 + label * len(self.prefixes) + prefix
        return np.where(known & mask, column, 0), mask.astype("float32")

    def values(self, by_class: Mapping[str, float]) -> Floats1d:
        """Return numbers given by tag or by type as one per column, 1.0 for others, (n_tags,)."""
        values = [by_class.get(tag, by_class.get(tag[2:], 1.0)) for tag in self.tags]
        return np.asarray(values, dtype="float32")

    def legality(self) -> Transitions:
        """Return scores that are 0 for legal transitions, else `ILLEGAL`. O is legal anywhere."""
        label, index = self.layout()
        prefix, outside = np.array(list(self.prefixes))[index], label < 0
        opens = outside | np.isin(prefix, ["B", "U"])
        closes = outside | np.isin(prefix, ["L", "U"]) | (self.scheme == "BIO")
        continues = (label[:, None] == label) & ~outside
        continues &= np.isin(prefix, ["B", "I"])[:, None] & np.isin(prefix, ["I", "L"])
        legal = opens, (closes[:, None] & opens) | continues, closes
        return Transitions(*(np.where(ok, 0.0, ILLEGAL).astype("float32") for ok in legal))
