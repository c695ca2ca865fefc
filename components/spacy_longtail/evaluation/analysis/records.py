"""What an analysis says, as it stands in the JSON file of an evaluation. Scores are in [0, 1]."""

from ...records import Record


class PRF(Record):
    p: float
    r: float
    f: float


class Confusion(Record):
    labels: list[str]  # with O as the last
    counts: list[list[int]]  # a row per gold type, a column per predicted type


class ErrorKinds(Record):
    """Mentions by what is wrong with them."""

    correct: int
    type: int
    boundary: int
    type_and_boundary: int
    missed: int
    spurious: int


class ErrorTable(ErrorKinds):
    per_type: dict[str, ErrorKinds]  # gold, or predicted where nothing is there


class LengthBin(Record):
    """Sentences by their words. Scores are null without anything to score."""

    bin: str
    sentences: int
    accuracy: float | None
    f: float | None  # micro F1 of the mentions that begin in them


class Bucket(Record):
    """Types by their training mentions. Scores are null in a bucket without types."""

    labels: list[str]  # most frequent first
    training_mentions: int
    macro_f: float | None
    p: float | None  # of all mentions together, as r and f
    r: float | None
    f: float | None
    support: int


class SeenShare(Record):
    """Recall of gold mentions, precision of predicted ones; 0/0 is null."""

    recall: float | None
    support: int
    precision: float | None
    predicted: int


class Seen(Record):
    """Mentions that training has with the same type, case aside, and the others."""

    seen: SeenShare
    unseen: SeenShare


class Analysis(Record):
    confusion: Confusion
    errors: ErrorTable
    lengths: list[LengthBin]
    buckets: dict[str, Bucket]  # head, mid and tail
    seen: Seen
