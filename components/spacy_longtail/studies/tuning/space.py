"""A search space: parameters with their ranges, read from texts, and what they make of a config."""

import copy
import json
from typing import TYPE_CHECKING, NamedTuple

from spacy.language import DEFAULT_CONFIG_PATH
from spacy.util import load_config
from thinc.api import Config

from ...errors import Errors
from ...types import Overrides
from ..trials.compose import apply
from ..trials.filling import interpolated
from .named import (
    NAMED,
    POLICIES,
    POLICY,
    POLICY_WHERE,
    USUAL,
    Named,
    current,
    explicit,
    is_written,
    named_places,
    with_policy,
)

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial

Choice = str | float | bool | None  # what Optuna draws from

# how long a training is, and when it is looked at
LENGTHS = tuple(f"training.{name}" for name in ("max_steps", "max_epochs", "patience", "eval_frequency"))
DIGITS = 4  # of a number that is tried: more could not be told apart, and a config stays readable


class Parameter(NamedTuple):
    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Choice, ...] = ()  # instead of a range
    baseline: object = None  # its value in trial 0

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

    def places(self, config: Config) -> list[str]:
        """Where a config has it, as dotted names."""
        return [self.name] if "." in self.name else named_places(self.name, config)

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
    parameters: list[Parameter]  # the policy first: others depend on it

    def draw(self, trial: "Trial", is_baseline: bool = False) -> Overrides:
        """The values of a trial, drawn by Optuna.

        trial (Trial): The trial. is_baseline (bool): Give the baseline's. Optuna is told those
            that it could have drawn.
        RETURNS (Overrides): By name of the parameter, of those that have a place under the policy.
        """
        if is_baseline:
            first = self.first()
            for parameter in self.parameters:
                if parameter.name in first and parameter.has(parameter.baseline):
                    parameter.suggest(trial)
            return first
        values: dict[str, object] = {}
        config = self.config
        for parameter in self.parameters:
            if parameter.places(config):
                values[parameter.name] = parameter.suggest(trial)
            if parameter.name == POLICY:
                config = with_policy(config, str(values[POLICY]))
        return values

    def first(self) -> Overrides:
        """The values of trial 0. What the config leaves out, and has no default, stays left out."""
        first = next((p.baseline for p in self.parameters if p.name == POLICY), None)
        config = self.config if first is None else with_policy(self.config, str(first))
        return {
            p.name: p.baseline
            for p in self.parameters
            if (places := p.places(config))
            and (p.baseline is not None or all(is_written(config, place) for place in places))
        }

    def baseline(self) -> Overrides:
        """The baseline's values that Optuna could have drawn."""
        return {p.name: p.baseline for p in self.parameters if p.has(p.baseline)}

    def corner(self, last: bool) -> Overrides:
        """The lowest or first of every parameter, or the highest or last."""
        i = -1 if last else 0
        return {p.name: p.choices[i] if p.choices else (p.low, p.high)[i] for p in self.parameters}

    def configure(self, values: Overrides) -> Config:
        """The config of a trial, not interpolated. RAISES (ValueError): L471."""
        config = Config(copy.deepcopy(dict(self.config)))
        if POLICY in values:
            config = with_policy(config, values[POLICY])
        for parameter in self.parameters:
            if parameter.name != POLICY and parameter.name in values:
                value = values[parameter.name]
                apply(config, dict.fromkeys(parameter.places(config), value))
        return config


def read_space(config: Config, given: list[str]) -> Space:
    """The space of a config.

    config (Config): Not interpolated.
    given (List[str]): NAME, NAME=LOW:HIGH or SECTION.NAME=..., as on the command line; none takes every
        usual named parameter that the config has.
    RETURNS (Space): What to search. RAISES (ValueError): L471, L481, L482, L483, L486.
    """
    config = explicit(config)
    texts = given or [name for name in USUAL if named_places(name, config)]
    if not texts:
        raise ValueError(Errors.L481.format(known=", ".join(USUAL)))
    values = interpolated(load_config(DEFAULT_CONFIG_PATH).merge(config))  # as spaCy fills it in
    has_policy = any(text.partition("=")[0] == POLICY for text in texts)
    found = [_read(text, config, values, has_policy) for text in texts]
    found.sort(key=lambda parameter: parameter.name != POLICY)
    taken: dict[str, str] = {}
    for parameter in found:
        for place in parameter.places(config) or [parameter.name]:
            if place in taken:
                raise _wrong(parameter.name, f"{taken[place]} sets the same value")
            taken[place] = parameter.name
    return Space(config, found)


def _read(text: str, config: Config, values: Config, has_policy: bool) -> Parameter:
    name, separator, spec = text.partition("=")
    if separator and not spec:
        raise _wrong(text, "it ends in =")
    if name == POLICY:
        if not named_places(name, config):
            fix = "Name the resampling in a config with --config, and search its cap."
            raise ValueError(Errors.L482.format(name=name, where=POLICY_WHERE, fix=fix))
        choices = _choices(spec, text) if spec else POLICIES
        if unknown := [str(choice) for choice in choices if choice not in POLICIES]:
            raise _wrong(text, f"{', '.join(unknown)} is not one of {', '.join(POLICIES)}")
        return Parameter(name, choices=choices, baseline=POLICIES[0])
    if name in NAMED:
        return _read_named(text, NAMED[name], config, values, has_policy)
    if name in LENGTHS:
        raise _wrong(text, "trials are compared at equal steps")
    if "." not in name or not spec:
        raise _wrong(text, "the name is unknown" if "." not in name else "it has no range")
    apply(Config(copy.deepcopy(dict(config))), {name: None})  # whether its block is there
    baseline = current(values, name)
    if ":" not in spec:
        return Parameter(name, choices=_choices(spec, text), baseline=baseline)
    low, high, log = _range(spec, text)
    is_whole = isinstance(baseline, int) or (baseline is None and low == int(low) and high == int(high))
    return Parameter(name, low, high, log, is_whole and not isinstance(baseline, bool), (), baseline)


def _read_named(text: str, named: Named, config: Config, values: Config, has_policy: bool) -> Parameter:
    name, _, spec = text.partition("=")
    places = named.find(config)
    # the policies of the search have caps, whatever the config has
    if not places and not (name == "cap" and has_policy):
        raise ValueError(Errors.L482.format(name=name, where=named.where, fix=named.fix))
    value = current(values, places[0]) if places else None
    low, high = named.range or (0.1 * float(value or 0), 10 * float(value or 0))
    log = named.log
    if spec:
        low, high, marked = _range(spec, text)
        log = marked or (log and low > 0)
    if named.whole and (low != int(low) or high != int(high)):
        raise _wrong(text, "it takes whole numbers")
    baseline = value if named.baseline is None else named.baseline
    return Parameter(name, low, high, log, named.whole, (), baseline)


def _range(spec: str, text: str) -> tuple[float, float, bool]:
    ends, is_log = spec.removesuffix(":log"), spec.endswith(":log")
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError as error:
        raise _wrong(text, f"{spec!r} is not a range of numbers") from error
    if not (-1e300 < low < high < 1e300):  # Optuna needs a finite width
        raise _wrong(text, "the range must go up, from one finite number to another")
    if is_log and low <= 0:
        raise _wrong(text, "a logarithmic range begins above 0")
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
    known = ", ".join((*NAMED, POLICY))
    return ValueError(Errors.L483.format(found=text, problem=problem, known=known))
