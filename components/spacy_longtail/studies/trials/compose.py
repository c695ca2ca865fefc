"""A config made of a base and of named choices, one per axis: head, gate, encoder, reader ..."""

import copy
from collections.abc import Mapping
from configparser import Error as ConfigParserError
from functools import cache
from pathlib import Path
from typing import Any

import srsly
from spacy.util import load_config
from thinc.api import Config

from ...errors import SHIPPED_CONFIGS, Errors
from ...faults import message_of
from ...types import Overrides

HERE = Path(__file__).parent
BASE = HERE / "base.cfg"
OPTIONAL = "optional"  # settings of a choice that hold only where the config has their block
LAST = "last"  # components of a choice that go to the end of the pipeline


@cache
def known_choices() -> dict[str, dict[str, Overrides]]:
    """The settings of each choice, by axis, in the order in which axes are applied."""
    return srsly.read_yaml(HERE / "choices.yml")


def read_base(path: Path | None) -> Config:
    """A config as it is written, variables and all; null is the one that comes with the package."""
    path = path or BASE
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix=SHIPPED_CONFIGS))
    try:
        return load_config(path, interpolate=False)
    except (ValueError, ConfigParserError) as error:
        fix = "Correct that line, or take a config that `longtail init-config` wrote."
        problem = message_of(error)
        raise ValueError(Errors.L470.format(path=path, problem=problem, fix=fix)) from error


def apply(config: Config, settings: Overrides) -> None:
    """Set config values in place.

    config (Config): Not interpolated.
    settings (Overrides): By dotted name, a mapping in place of a whole block; those under
        "optional" where their block is there. Under "last" are components for the pipeline's end.
    """
    optional, last = settings.get(OPTIONAL, {}), settings.get(LAST, [])
    for name, value in settings.items():
        if name not in (OPTIONAL, LAST):
            *sections, key = name.split(".")
            block = block_of(config, sections)
            if block is None or not (sections or isinstance(value, Mapping)):
                raise ValueError(Errors.L471.format(name=name, block=".".join(sections)))
            block[key] = copy.deepcopy(value)
    if not isinstance(optional, dict) or not isinstance(last, list):
        raise ValueError(Errors.L471.format(name=f"{OPTIONAL} or {LAST}", block=OPTIONAL))
    for name, value in optional.items():
        *sections, key = name.split(".")
        block = block_of(config, sections)
        if block is not None and key in block:
            block[key] = copy.deepcopy(value)
    if last:
        config["nlp"]["pipeline"] = [*config["nlp"]["pipeline"], *last]


def block_of(config: object, sections: list[str]) -> dict[str, Any] | None:
    """A block of a config; null where it has none."""
    for section in sections:
        config = config.get(section) if isinstance(config, Mapping) else None
    return config if isinstance(config, dict) else None


def compose(base: Config, choices: Mapping[str, Overrides], settings: Overrides) -> Config:
    """A config of its own: the base, then the choices in the order of the axes, then the settings.

    base (Config): Not interpolated; left alone.
    choices (Mapping[str, Overrides]): The settings of the choice of each axis.
    settings (Overrides): What holds besides; it wins.
    RETURNS (Config): Not interpolated.
    """
    config = Config(copy.deepcopy(dict(base)))
    for axis in known_choices():
        apply(config, choices.get(axis, {}))
    apply(config, settings)
    return config
