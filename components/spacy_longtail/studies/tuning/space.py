"""A search space: config values with their ranges, read from texts."""

import json
from typing import TYPE_CHECKING, NamedTuple

from thinc.api import Config

from ...errors import Errors
from ..trials.compose import block_of

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial

Choice = str | float | bool | None  # what Optuna draws from

# how long a training is, and when it is evaluated
LENGTHS = tuple(f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency"))
DIGITS = 4  # of a drawn number: finer differences tell nothing, and the config stays readable
FORM = "Write SECTION.NAME=LOW:HIGH, with :log after it for a logarithmic range, or SECTION.NAME=A,B,C."


class Parameter(NamedTuple):
    name: str  # dotted, as in the config
    baseline: object  # the config's value
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Choice, ...] = ()  # instead of a range

    @property
    def text(self) -> str:
        """What it can be, for people."""
        if self.choices:
            return ", ".join(f"{choice}" for choice in self.choices)
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"

    def has(self, value: object) -> bool:
        """Whether a value is one that could be drawn."""
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.low <= value <= self.high and (not self.whole or value == int(value))

    def suggest(self, trial: "Trial") -> object:
        """A value for a trial."""
        if self.choices:
            return trial.suggest_categorical(self.name, list(self.choices))
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        value = trial.suggest_float(self.name, self.low, self.high, log=self.log)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)


def read_parameters(config: Config, given: list[str]) -> list[Parameter]:
    """What to search of a config.

    config (Config): Complete and interpolated.
    given (List[str]): SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C, as on the command line.
    """
    found: dict[str, Parameter] = {}
    for text in given:
        try:
            own = _read(text, config)
            if own.name in found:
                raise ValueError("the value is named twice")
        except ValueError as error:
            raise cannot_search(f"--search {text}: {error}.", FORM) from error
        found[own.name] = own
    return list(found.values())


def cannot_search(problem: str, fix: str) -> ValueError:
    """The error to raise of a search that cannot be run."""
    return ValueError(Errors.L483.format(problem=problem, fix=fix))


def _read(text: str, config: Config) -> Parameter:
    name, _, spec = text.partition("=")
    if name in LENGTHS:
        raise ValueError("trials are compared at equal steps")
    *sections, last = name.split(".")
    block = block_of(config, sections)
    if not spec or not sections or block is None or last not in block:
        raise ValueError("the config has no such value" if spec else "it has no range")
    baseline = block[last]
    if ":" not in spec:
        return Parameter(name, baseline, choices=_choices(spec))
    is_log = spec.endswith(":log")
    try:
        low, high = (float(end) for end in spec.removesuffix(":log").split(":"))
    except ValueError as error:
        raise ValueError(f"{spec!r} is not a range of numbers") from error
    if not (-1e300 < low < high < 1e300):  # Optuna needs a finite width
        raise ValueError("the range must go up, from one finite number to another")
    if is_log and low <= 0:
        raise ValueError("a logarithmic range starts above 0")
    is_whole = isinstance(baseline, int) or (baseline is None and low == int(low) and high == int(high))
    return Parameter(name, baseline, low, high, is_log, is_whole and not isinstance(baseline, bool))


def _choices(spec: str) -> tuple[Choice, ...]:
    found = tuple(_value(part) for part in spec.split(","))
    if any(isinstance(value, (list, dict)) for value in found) or len(set(found)) < max(len(found), 2):
        raise ValueError("choices are two numbers or words at least, each once")
    return found


def _value(text: str) -> Choice:
    try:
        return json.loads(text)
    except ValueError:
        return text
