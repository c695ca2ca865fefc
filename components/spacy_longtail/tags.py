"""The tag codec: spans to tag ids and back, and which tag may follow which. Column 0 is O.

Nothing else in the package knows the order of tags.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from thinc.types import Floats1d, Floats2d, Ints1d

Scheme = Literal["BIO", "BILUO"]
ILLEGAL = -1e4  # finite, so that a row of illegal tags still has an order


class TagSpan(NamedTuple):
    start: int  # first token
    end: int  # one past the last token
    label: str


class Legality(NamedTuple):
    start: Floats1d  # (n_tags,), 0 where a sentence may begin with the tag, else ILLEGAL
    trans: Floats2d  # (n_tags, n_tags), the same for [from, to]
    end: Floats1d  # (n_tags,), the same for the last tag


@dataclass(frozen=True)
class TagCodec:
    """Spans of some types as one tag a token.

    labels (Sequence[str]): Entity types, in the order of their columns.
    scheme (str): "BIO" or "BILUO".
    """

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

    def decode(self, ids: Ints1d) -> list[TagSpan]:
        """Spans of a legal tag sequence, within the sequence's own offsets."""
        spans = []
        width = len(self.prefixes)
        inside = np.flatnonzero(ids)
        start = -1
        for i in inside.tolist():  # entity tokens only
            label_i, prefix_i = divmod(int(ids[i]) - 1, width)
            prefix = self.prefixes[prefix_i]
            if prefix in "BU":
                start = i
            closes = prefix in "LU" or (
                self.scheme == "BIO" and (i + 1 >= len(ids) or ids[i + 1] != label_i * width + 2)
            )
            if closes:
                spans.append(TagSpan(start, i + 1, self.labels[label_i]))
        return spans

    def gold(self, aligned: Iterable[Sequence[str | None]]) -> tuple[Floats2d, Floats1d]:
        """Gold rows and mask from BILUO tags, one sequence after another.

        aligned (Iterable[Sequence[Optional[str]]]): BILUO tags, None where there is no annotation;
            types outside `labels` are O.
        RETURNS (Tuple[Floats2d, Floats1d]): (n_tokens, n_tags) with one 1.0 a row, (n_tokens,) with
            0.0 where nothing is annotated.
        """
        of_biluo = {"L": "I", "U": "B"} if self.scheme == "BIO" else {}
        own = {tag: i for i, tag in enumerate(self.tags)}
        column: dict[str | None, int] = {None: -1}
        ids = []
        for tag in (tag for tags in aligned for tag in tags):
            if tag not in column:  # each distinct tag is looked up once
                column[tag] = own.get(of_biluo.get(tag[0], tag[0]) + tag[1:], 0)  # type: ignore[index]
            ids.append(column[tag])
        index = np.asarray(ids, dtype="int64")
        gold = np.zeros((len(index), len(self)), dtype="float32")
        gold[np.arange(len(index)), np.maximum(index, 0)] = 1.0
        return gold, (index >= 0).astype("float32")

    def weights(self, by_class: dict[str, float]) -> Floats1d:
        """Weights by tag, or by type, as one number a column. RETURNS (Floats1d): (n_tags,)."""
        found = [by_class.get(t, by_class.get(t[2:], 1.0)) for t in self.tags]
        return np.asarray(found, dtype="float32")

    def legality(self) -> Legality:
        """Additive scores that make illegal sequences lose any comparison."""
        tags = self.tags
        opens = np.array([t[0] in "OBU" for t in tags])
        if self.scheme == "BIO":
            closes = np.ones(len(tags), dtype=bool)
        else:
            closes = np.array([t[0] in "OLU" for t in tags])
        continues = np.array(
            [[a[0] in "BI" and b[0] in "IL" and a[2:] == b[2:] for b in tags] for a in tags]
        )
        legal = (closes[:, None] & opens[None, :]) | continues

        def score(ok: np.ndarray) -> np.ndarray:
            return np.where(ok, 0.0, ILLEGAL).astype("float32")

        return Legality(score(opens), score(legal), score(closes))
