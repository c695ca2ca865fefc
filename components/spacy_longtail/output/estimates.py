"""What a dry run says: the work that a command would do, and about how long it would take."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds
SMALL = 1.5  # a unit is used from so many of it on


class Estimate(NamedTuple):
    """How long one piece of work takes."""

    seconds: float
    basis: str  # what the number is from, in words
    at_most: bool = False  # it may end earlier, as by a patience

    def times(self, n: float) -> "Estimate":
        """As often, or as much. n (float): How often."""
        return self._replace(seconds=n * self.seconds)

    def within(self, limit: float) -> "Estimate":
        """With a time limit. limit (float): Seconds that --minutes allows."""
        if self.seconds <= limit:
            return self
        return Estimate(limit, f"{self.basis}; --minutes ends it", True)


class Stage(NamedTuple):
    """A part of a command's work."""

    name: str
    n: int  # pieces that are to be done
    unit: str  # of the pieces, in the plural
    each: Estimate | None  # of one piece; null where nothing is known of it

    @property
    def seconds(self) -> float | None:
        """Of all pieces, one after the other."""
        return 0.0 if not self.n else None if self.each is None else self.n * self.each.seconds


class Outlook(NamedTuple):
    """What a command would do."""

    facts: list[str]  # in words, in their order
    stages: list[Stage]
    workers: int = 1  # pieces at a time
    lines: Sequence[str] = ()  # of a list, before the facts
    data: Mapping[str, JsonValue] = {}  # beside the stages, for --json
    note: str = ""  # after the sum

    @property
    def open(self) -> list[Stage]:
        """The stages with something to do."""
        return [stage for stage in self.stages if stage.n]

    @property
    def seconds(self) -> float:
        """Wall clock of all that something is known of, as if several at a time were as fast as one."""
        known = [(stage, stage.each) for stage in self.open if stage.each is not None]
        total = sum(stage.n * each.seconds for stage, each in known)
        longest = max((each.seconds for _, each in known), default=0.0)
        return max(total / self.workers, longest)

    @property
    def unknown(self) -> list[str]:
        """The names of the stages that nothing is known of."""
        return [stage.name for stage in self.open if stage.each is None]

    @property
    def at_most(self) -> bool:
        """Whether some of it may end earlier."""
        return any(stage.each is not None and stage.each.at_most for stage in self.open)

    def as_json(self) -> dict[str, JsonValue]:
        """As JSON data."""
        stages: list[JsonValue] = [
            {
                "name": stage.name,
                "n": stage.n,
                "unit": stage.unit,
                "seconds_each": None if stage.each is None else _rounded(stage.each.seconds),
                "seconds": None if stage.seconds is None else _rounded(stage.seconds),
                "at_most": stage.each is not None and stage.each.at_most,
                "basis": None if stage.each is None else stage.each.basis,
            }
            for stage in self.stages
        ]
        return {
            **self.data,
            "facts": [*self.facts],
            "stages": stages,
            "workers": self.workers,
            "seconds": _rounded(self.seconds),
            "at_most": self.at_most,
            "unknown": [*self.unknown],
        }


def duration(seconds: float) -> str:
    """A duration in words, in the unit that people would take: 40 s, 12 min, 3.5 h."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "below 1 ms"
    if seconds < SMALL * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < SMALL * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < SMALL * DAY:
        return f"{seconds / HOUR:.1f} h"
    return f"{seconds / DAY:.1f} days"


def about(seconds: float, at_most: bool = False) -> str:
    """A time that was estimated, in words.

    seconds (float): The time. at_most (bool): Whether it may be less.
    """
    return f"{'at most ' * at_most}about {duration(seconds)}"


def summary(outlook: Outlook) -> str:
    """How long all of it takes, in a sentence."""
    if not outlook.open:
        return "Nothing to do: all of it is finished."
    lacking = f", without {', '.join(outlook.unknown)}" if outlook.unknown else ""
    if len(outlook.unknown) == len(outlook.open):
        return "How long it would take is not known."
    text = about(outlook.seconds, outlook.at_most)
    at_a_time = f" with {outlook.workers} at a time" if outlook.workers > 1 else ""
    return f"{text[0].upper()}{text[1:]} in all{at_a_time}{lacking}{outlook.note}"


def rows(stages: Sequence[Stage]) -> list[tuple[str, str, str, str, str]]:
    """Lines of a table: name, pieces, time of one, time of all, basis."""
    found = []
    for stage in stages:
        each, seconds = stage.each, stage.seconds
        if each is None or seconds is None or not stage.n:
            times = ("-", "-", "" if each is None else each.basis)
        else:
            most = "at most " * each.at_most
            times = (f"{most}{duration(each.seconds)}", f"{most}{duration(seconds)}", each.basis)
        unit = stage.unit if stage.n != 1 else stage.unit.removesuffix("s")
        found.append((stage.name, f"{stage.n:,} {unit}", *times))
    return found


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.3g}")
