"""Parameters of a search: config values, each with a range or choices, as typed after --search."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from thinc.api import Config

from ...errors import Errors
from ...settings import is_whole
from ...training.provenance import from_override
from ..configs.compose import block_of
from ..trials.plan_file import owner_of

if TYPE_CHECKING:  # Optuna is an extra
    import optuna

Choice = str | float | bool | None  # a value of a categorical parameter

# settings of the length of a training and of its evaluations, which must be equal for all trials
LENGTH_SETTINGS = tuple(
    f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency")
)
DIGITS = 4  # significant digits of a sampled number; more would make the config unreadable


class Parameter(NamedTuple):
    """Config value to search, with its range or choices."""

    name: str  # dotted, as in the config
    baseline: object  # the config's value
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Choice, ...] = ()  # instead of a range

    @property
    def text(self) -> str:
        """Return the range or the choices, for people."""
        if self.choices:
            return ", ".join(f"{choice}" for choice in self.choices)
        kinds = ", ".join(["whole"] * self.whole + ["log"] * self.log)
        return f"{self.low:g} to {self.high:g}{f' ({kinds})' if kinds else ''}"

    def has(self, value: object) -> bool:
        """Return whether a value is in the range or among the choices.

        value (object): Value of a config.
        """
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.low <= value <= self.high and (not self.whole or value == int(value))

    def suggest(self, trial: "optuna.Trial") -> object:
        """Return the value for a trial.

        trial (optuna.Trial): Trial of Optuna, which samples the value.
        """
        if self.choices:
            return trial.suggest_categorical(self.name, list(self.choices))
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        value = trial.suggest_float(self.name, self.low, self.high, log=self.log)
        # a range far narrower than its ends needs more digits to have values between them
        ratio = max(abs(self.low), abs(self.high)) / (self.high - self.low)
        digits = max(DIGITS, DIGITS - 1 + math.floor(math.log10(ratio)))
        return min(max(float(f"{value:.{digits}g}"), self.low), self.high)


def read_parameters(config: Config, given: list[str]) -> list[Parameter]:
    """Return the settings to search, with their ranges or choices.

    config (Config): The complete config, interpolated.
    given (List[str]): SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C, as on the command line.
    RETURNS (List[Parameter]): The settings in the given order.
    RAISES (ValueError): If a setting is not in the config, or its range is invalid (L483).
    """
    parameters: dict[str, Parameter] = {}
    for text in given:
        try:
            parameter = _read_parameter(text, config)
            if parameter.name in parameters:
                raise ValueError("the value is named twice")
        except ValueError as error:
            raise cannot_search(
                f"--search {text}: {error}.",
                "Write SECTION.NAME=LOW:HIGH, with :log after it for a logarithmic range, "
                "or SECTION.NAME=A,B,C.",
            ) from error
        parameters[parameter.name] = parameter
    return list(parameters.values())


def cannot_search(problem: str, fix: str) -> ValueError:
    """Return the error (L483) for a search that cannot be run.

    problem (str): What is wrong, as a sentence.
    fix (str): What to do, as a sentence.
    """
    return ValueError(Errors.L483.format(problem=problem, fix=fix))


def refuse_owned(names: Iterable[str]) -> None:
    """Refuse config values that the corpus sets, because any others would be ignored.

    names (Iterable[str]): Dotted names of config values.
    RAISES (ValueError): If the corpus sets one of them (L483).
    """
    for name in names:
        if owner_of(name) == "corpora":
            raise cannot_search(f"{name} cannot be set, because the corpus sets it.", "Omit it.")


def _read_parameter(text: str, config: Config) -> Parameter:
    """Return the parameter of one --search. Errors say what is wrong with it, without a code."""
    name, _, spec = text.partition("=")
    if name in LENGTH_SETTINGS:
        raise ValueError("trials are compared at equal steps")
    block, key = block_of(config, name)
    if not spec or "." not in name or block is None or key not in block:
        raise ValueError("the config has no such value" if spec else "it has no range")
    baseline = block[key]
    if ":" not in spec:
        return Parameter(name, baseline, choices=_read_choices(spec))
    is_log = spec.endswith(":log")
    try:
        low, high = (float(end) for end in spec.removesuffix(":log").split(":"))
    except ValueError as error:
        raise ValueError(f"{spec!r} is not a range of numbers") from error
    if not (-1e300 < low < high < 1e300):  # Optuna needs a finite width
        raise ValueError("the range must go up, from one finite number to another")
    if is_log and low <= 0:
        raise ValueError("a logarithmic range starts above 0")
    # a setting that also takes fractions may be written without a decimal point in the config
    is_typed_whole = low == int(low) and high == int(high) and "." not in spec
    is_range_whole = is_typed_whole and (baseline is None or is_whole(baseline))
    if is_range_whole:
        low, high = int(low), int(high)
    return Parameter(name, baseline, low, high, is_log, is_range_whole)


def _read_choices(spec: str) -> tuple[Choice, ...]:
    """Return the choices of a text such as A,B,C."""
    choices = tuple(map(from_override, spec.split(",")))
    is_nested = any(isinstance(value, (list, dict)) for value in choices)
    if is_nested or len(set(choices)) < max(len(choices), 2):
        raise ValueError("choices must be at least two numbers or words, each once")
    return choices
