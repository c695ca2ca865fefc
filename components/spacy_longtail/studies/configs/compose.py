"""Composition of a config from a base and named choices, one for each axis (head, encoder ...)."""

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
OPTIONAL = "optional"  # settings of a choice that apply only if the config has their block
LAST = "last"  # components of a choice that are added at the end of the pipeline


@cache
def known_choices() -> dict[str, dict[str, Overrides]]:
    """Return the settings of each choice by axis, in the order in which axes are applied."""
    return srsly.read_yaml(HERE / "choices.yml")


def read_base(path: Path | None) -> Config:
    """Read a config without interpolating its variables.

    path (Optional[Path]): The file. By default the base of all plans in the package.
    RETURNS (Config): The config, not interpolated.
    RAISES (ValueError): If there is no such file, or it is not a config.
    """
    path = path or HERE / "base.cfg"
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix=SHIPPED_CONFIGS))
    try:
        return load_config(path, interpolate=False)
    except (ValueError, ConfigParserError) as error:
        raise ValueError(
            Errors.L470.format(
                path=path,
                problem=message_of(error),
                fix="Correct that line, or take a config that `longtail init-config` wrote.",
            )
        ) from error


def apply(config: Config, settings: Overrides) -> None:
    """Set config values in place.

    config (Config): The config, not interpolated.
    settings (Overrides): Values by dotted name. A mapping replaces a whole block. Settings under
        "optional" apply only if the config has them, and components under "last" are added at
        the end of the pipeline.
    RAISES (ValueError): If the config has no such block.
    """
    optional, last = settings.get(OPTIONAL, {}), settings.get(LAST, [])
    for name, value in settings.items():
        if name not in (OPTIONAL, LAST):
            block, key = block_of(config, name)
            if block is None or not ("." in name or isinstance(value, Mapping)):
                section = name.rpartition(".")[0]
                found = f"the config has no block [{section}]"
                problem = found if section else "its name needs a section, as in training.dropout"
                raise ValueError(Errors.L471.format(name=name, problem=problem))
            block[key] = copy.deepcopy(value)
    if not isinstance(optional, dict) or not isinstance(last, list):
        problem = f"{OPTIONAL!r} takes a mapping of settings and {LAST!r} a list of components"
        raise ValueError(Errors.L471.format(name=f"{OPTIONAL} or {LAST}", problem=problem))
    for name, value in optional.items():
        block, key = block_of(config, name)
        if block is not None and key in block:
            block[key] = copy.deepcopy(value)
    if last:
        config["nlp"]["pipeline"] = [*config["nlp"]["pipeline"], *last]


def block_of(config: object, name: str) -> tuple[dict[str, Any] | None, str]:
    """Return the block of a config value, or None if there is no such block, and the value's key.

    config (object): The config.
    name (str): Dotted name of the value, which the block need not have.
    """
    *sections, key = name.split(".")
    for section in sections:
        config = config.get(section) if isinstance(config, Mapping) else None
    return config if isinstance(config, dict) else None, key


def compose(base: Config, choices: Mapping[str, Overrides], settings: Overrides) -> Config:
    """Compose a config: the base, then the choices in the order of the axes, then the settings.

    base (Config): Config to start from, not interpolated. It is not changed.
    choices (Mapping[str, Overrides]): Settings of the choice of each axis.
    settings (Overrides): Other settings, which override those of the choices.
    RETURNS (Config): A new config, not interpolated.
    RAISES (ValueError): If the config has no block for a setting.
    """
    config = Config(copy.deepcopy(dict(base)))
    for axis in known_choices():
        apply(config, choices.get(axis, {}))
    apply(config, settings)
    return config
