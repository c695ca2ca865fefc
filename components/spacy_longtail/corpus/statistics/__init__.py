"""Statistics of a corpus: the records of stats.json, and how they are read and written.

Shares are in [0, 1]; docs/checking.md explains each key.
"""

import json
from pathlib import Path

from pydantic import Field

from ...output.writing import write_file
from ...records import Record

MARK = '"undeclared":'  # near the beginning of a file of statistics


class TypeStatistics(Record):
    mentions: int
    tokens: int
    sentences: int
    rareness: float | None  # bits
    unseen: float | None = None  # of dev and test: null in training, and without a mention


class PartStatistics(Record):
    documents: int
    sentences: int
    entity_sentences: int
    tokens: int
    entity_tokens: int
    mentions: int
    types: dict[str, TypeStatistics]


class Leakage(Record):
    """Sentences of a part that also occur in training."""

    sentences: int
    entity_sentences: int
    share: float
    near: int = 0  # others that differ from a training sentence only in names and numbers
    examples: list[str]


class MarkedPlace(Record):
    part: str
    text: str  # entities marked up as [Oslo|GEO]


class Conflicts(Record):
    """Texts with different annotations."""

    texts: int
    examples: list[list[MarkedPlace]]  # two places of one text each


class Finding(Record):
    rule: str
    part: str | None  # null where the rule looks at training, or at all parts
    finding: str
    evidence: str
    advice: str


class Statistics(Record):
    """Statistics of a corpus, and what they mean for training."""

    corpus: str
    lang: str
    labels: list[str]
    undeclared: list[str]
    tail: list[str]
    buckets: dict[str, list[str]]  # of types: head, mid and tail
    parts: dict[str, PartStatistics]
    duplicates: dict[str, int]  # sentences that repeat an earlier one, by part
    leakage: dict[str, Leakage]  # by part
    conflicts: Conflicts
    diagnosis: list[Finding] = Field(default_factory=list)

    @property
    def unseen(self) -> dict[str, float | None]:
        """Return the share of test mentions that are unseen in training, by declared type."""
        test = self.parts["test"].types if "test" in self.parts else {}
        return {label: test[label].unseen if test else None for label in self.labels}


def write_statistics(statistics: Statistics, path: Path) -> None:
    """Write statistics as JSON. Missing folders are created."""
    write_file(path, json.dumps(statistics.as_json(), indent=2))
