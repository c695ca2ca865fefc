"""The statistics of a corpus, as they stand in stats.json, and their one reader and writer.

Shares are in [0, 1]; docs/checking.md explains each key.
"""

import json
from pathlib import Path

from pydantic import Field

from ...output.writing import write_file
from ...records import Record, read_record

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
    """Sentences of a part that training has, too."""

    sentences: int
    entity_sentences: int
    share: float
    near: int = 0  # others that differ from a training sentence in names and numbers alone
    examples: list[str]


class MarkedPlace(Record):
    part: str
    text: str  # entities marked up as [Oslo|GEO]


class Conflicts(Record):
    """Texts that are annotated in more than one way."""

    texts: int
    examples: list[list[MarkedPlace]]  # two places of one text each


class Finding(Record):
    rule: str
    part: str | None  # null where the rule looks at training, or at all parts
    finding: str
    evidence: str
    advice: str


class Statistics(Record):
    """Everything that is counted of a corpus, and what it means."""

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
        """The share of each declared type's test mentions with a wording that training lacks."""
        test = self.parts["test"].types if "test" in self.parts else {}
        return {label: test[label].unseen if test else None for label in self.labels}


def read_statistics(path: Path) -> Statistics:
    """Read what the command `stats` wrote."""
    return read_record(Statistics, path, "stats")


def write_statistics(statistics: Statistics, path: Path) -> None:
    """Write statistics as JSON, the folder made if need be."""
    write_file(path, json.dumps(statistics.as_json(), indent=2))
