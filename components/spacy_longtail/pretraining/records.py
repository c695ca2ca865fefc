"""What a pretraining leaves on disk: how far it is, and what was done."""

from pydantic import ConfigDict, Field

from ..records import Record
from ..training.provenance import Block


class DonorScore(Record):
    """F1 on the sentences of a donor that were not trained on."""

    name: str
    micro: float
    macro: float
    sentences: int


Scores = list[tuple[int, list[DonorScore]]]  # by step


class Progress(Record):
    """Of a training that goes on."""

    model_config = ConfigDict(frozen=False)

    step: int = 0
    seconds: float = 0.0
    scores: Scores = Field(default_factory=list)
    key: str = ""  # of the pretraining: settings and data


class DonorRecord(Record):
    name: str
    sentences: int
    words: int
    left_out: int  # sentences
    types: dict[str, str]  # in words
    open: bool = False  # each mention has a type of its own


class PretrainRecord(Record):
    key: str
    encoder: str
    steps: int
    words: int  # of a batch: subwords with padding
    power: float
    parts: list[str]
    seed: int
    settings: Block
    seconds: float
    versions: dict[str, str]
    excluded: list[str]
    donors: list[DonorRecord]
    scores: Scores
    command: str = ""
