"""The record of a forecast: what mentions.json holds."""

from ...evaluation.learning_curve import Reach
from ...records import Record


class Measured(Record):
    """A size, and what its runs have on dev: what to annotate is planned without a look at test."""

    size: int  # that was asked for
    mentions: float  # that there were, mean over the runs
    scores: list[float]  # F1 of the type by run, in [0, 1]


class Expected(Record):
    """What a number of mentions lets expect."""

    mentions: int
    f1: float
    low: float
    high: float
    sentences: dict[str, float]  # to label for it, by how they are chosen


class Answer(Record):
    """The mentions for the target; null is none that can be said."""

    target: float
    reach: Reach
    mentions: float | None
    low: float | None
    high: float | None
    sentences: dict[str, tuple[float, float | None, float | None]]  # value, low, high


class Law(Record):
    """F1 = a - b * mentions ** -c."""

    a: float
    b: float
    c: float


class Forecast(Record):
    """What the trials of a method on draws of a type say."""

    corpus: str
    method: str
    label: str
    present: int  # training mentions that there are
    sentences: int  # training sentences
    level: float  # of intervals
    measured: list[Measured]
    law: Law | None  # null without a fit
    asymptote: tuple[float, float, float] | None  # value, low, high
    line: list[tuple[float, float, float, float]]  # mentions, and F1: value, low, high
    expected: list[Expected]
    answer: Answer | None
    findings: list[str]  # the answer in words first
