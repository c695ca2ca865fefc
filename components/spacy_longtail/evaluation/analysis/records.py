"""What an analysis says, as it stands in the JSON file of an evaluation. Scores are in [0, 1]."""

from ...records import Record


class PRF(Record):
    p: float
    r: float
    f: float


class Match(PRF):
    right: int
    predicted: int
    gold: int


class Matching(Record):
    """By what counts as a match."""

    strict: Match
    boundaries: Match  # the type may be wrong
    partial: Match  # of the same type, a shared token is enough


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


class Errors(ErrorKinds):
    per_type: dict[str, ErrorKinds]  # gold, or predicted where nothing is there


class Side(Record):
    """Where one end of mentions was predicted."""

    early: int
    right: int
    late: int


class Boundaries(Record):
    """Mentions of the right type with wrong boundaries."""

    start: Side
    end: Side
    too_long: int  # the gold mention lies in it
    too_short: int
    shifted: int  # both ends moved one way


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


class Share(Record):
    """Recall of gold mentions, precision of predicted ones; 0/0 is null."""

    recall: float | None
    support: int
    precision: float | None
    predicted: int


class SeenShares(Record):
    """Mentions that training has with the same type, case aside, and the others."""

    seen: Share
    unseen: Share


class Seen(SeenShares):
    per_type: dict[str, SeenShares]


class Averages(Record):
    """F1 averaged by several conventions."""

    micro: float
    declared: float
    gold: float
    union: float
    weighted: float
    tail: float | None  # null without rare types
    seqeval_phantoms: list[str]  # predicted types without gold mentions: seqeval's average has them


class Analysis(Record):
    matching: Matching
    confusion: Confusion
    errors: Errors
    boundaries: Boundaries
    lengths: list[LengthBin]
    buckets: dict[str, Bucket]  # head, mid and tail
    seen: Seen
    averages: Averages
