"""A search space: config values with their ranges, read from texts, and what they make of a config."""

import copy
import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.language import DEFAULT_CONFIG_PATH, Language
from spacy.util import load_config, registry
from thinc.api import Config

from ...errors import Errors
from ...types import Overrides
from ..trials.compose import apply
from ..trials.filling import interpolated

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial

Choice = str | float | bool | None  # what Optuna draws from

# how long a training is, and when it is evaluated
LENGTHS = tuple(f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency"))
DIGITS = 4  # of a drawn number: finer differences tell nothing, and the config stays readable


class Parameter(NamedTuple):
    name: str  # dotted, as in the config
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Choice, ...] = ()  # instead of a range
    baseline: object = None  # the config's value

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


class Space(NamedTuple):
    config: Config  # not interpolated
    parameters: list[Parameter]

    def baseline(self) -> Overrides:
        """The config's own values. What it leaves out, and has no default, stays left out."""
        return {
            p.name: p.baseline
            for p in self.parameters
            if p.baseline is not None or p.name.rpartition(".")[2] in _block(self.config, p.name)
        }

    def corner(self, last: bool) -> Overrides:
        """The lowest or first of every parameter, or the highest or last."""
        i = -1 if last else 0
        return {p.name: p.choices[i] if p.choices else (p.low, p.high)[i] for p in self.parameters}

    def configure(self, values: Overrides) -> Config:
        """The config of a trial, not interpolated. RAISES (ValueError): L471."""
        config = Config(copy.deepcopy(dict(self.config)))
        apply(config, values)
        return config


def read_space(config: Config, given: list[str]) -> Space:
    """The space of a config.

    config (Config): Not interpolated.
    given (List[str]): SECTION.NAME=LOW:HIGH[:log] or SECTION.NAME=A,B,C, as on the command line.
    RETURNS (Space): What to search. RAISES (ValueError): L471, L483, L486.
    """
    values = interpolated(load_config(DEFAULT_CONFIG_PATH).merge(config))  # as spaCy fills it in
    found = [_read(text, config, values) for text in given]
    names = [parameter.name for parameter in found]
    for text, name in zip(given, names, strict=True):
        if names.count(name) > 1:
            raise _wrong(text, "the value is named twice")
    return Space(config, found)


def _read(text: str, config: Config, values: Config) -> Parameter:
    name, _, spec = text.partition("=")
    if name in LENGTHS:
        raise _wrong(text, "trials are compared at equal steps")
    if "." not in name or not spec:
        raise _wrong(text, "the name has no section" if spec else "it has no range")
    apply(Config(copy.deepcopy(dict(config))), {name: None})  # whether its block is there
    baseline = _current(values, name)
    if ":" not in spec:
        return Parameter(name, choices=_choices(spec, text), baseline=baseline)
    low, high, log = _range(spec, text)
    is_whole = isinstance(baseline, int) or (baseline is None and low == int(low) and high == int(high))
    return Parameter(name, low, high, log, is_whole and not isinstance(baseline, bool), (), baseline)


def _current(config: Config, name: str) -> Any:
    """A config's value, or its default where the config leaves it out. config (Config): Interpolated."""
    block, last = _block(config, name), name.rpartition(".")[2]
    if last in block:
        return block[last]
    for kind in ("losses", "misc"):
        if f"@{kind}" in block:
            made = getattr(registry, kind).get(block[f"@{kind}"])
            argument = inspect.signature(made).parameters.get(last)
            return None if argument is None else argument.default
    if "factory" in block and Language.has_factory(block["factory"]):  # which loads its module
        return (Language.get_factory_meta(block["factory"]).default_config or {}).get(last)
    return None


def _block(config: Any, name: str) -> Mapping[str, Any]:
    """The block of a config that a value is in, by the value's dotted name."""
    for part in name.split(".")[:-1]:
        config = config.get(part) if isinstance(config, Mapping) else None
    return config or {}


def _range(spec: str, text: str) -> tuple[float, float, bool]:
    ends, is_log = spec.removesuffix(":log"), spec.endswith(":log")
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError as error:
        raise _wrong(text, f"{spec!r} is not a range of numbers") from error
    if not (-1e300 < low < high < 1e300):  # Optuna needs a finite width
        raise _wrong(text, "the range must go up, from one finite number to another")
    if is_log and low <= 0:
        raise _wrong(text, "a logarithmic range starts above 0")
    return low, high, is_log


def _choices(spec: str, text: str) -> tuple[Choice, ...]:
    read = [_value(part) for part in spec.split(",")]
    found = tuple(value for value in read if value is None or isinstance(value, (str, int, float)))
    if len(found) < len(read):
        raise _wrong(text, "choices are numbers, words, true, false or null")
    if len(set(found)) < max(len(found), 2):
        raise _wrong(text, "choices are two at least, each once")
    return found


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _wrong(text: str, problem: str) -> ValueError:
    return ValueError(Errors.L483.format(found=text, problem=problem))
