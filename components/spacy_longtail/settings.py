"""Checks of settings, and parsing of those that are typed as text."""

import math
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

from pydantic import ConfigDict

from .errors import Errors

# of a registered dataclass: an unknown argument, NaN or infinity is an error in Python, too. The
# message is pydantic's, which shows the values: where one may hold a secret, check it otherwise
CHECKED = ConfigDict(extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)


def finite(
    name: str, value: object, rule: str, fix: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """Return a config number as a float that is finite and within [low, high].

    name (str): Name of the setting.
    value (object): Value of the setting.
    rule (str): Description of the allowed numbers, for the message.
    fix (str): Advice, for the message.
    low (float): Minimum.
    high (float): Maximum.
    RAISES (ValueError): L001.
    """
    try:
        number = float(value) if isinstance(value, (str, SupportsFloat)) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not (math.isfinite(number) and low <= number <= high):
        raise ValueError(Errors.L001.format(name=name, rule=rule, value=value, fix=fix))
    return number


def unused(name: str, value: object, who: str, where: str) -> ValueError:
    """Return the error (L213) for a setting that would be ignored."""
    return ValueError(Errors.L213.format(name=name, value=value, who=who, where=where))


def whole(name: str, value: object, fix: str, low: float = 0) -> int:
    """Return a config number as an int of at least `low`.

    name (str): Name of the setting.
    value (object): Value of the setting.
    fix (str): Advice, for the message.
    low (float): Minimum.
    RAISES (ValueError): If it is another number, or none (L001).
    """
    rule = "a whole number" + (f" of at least {low}" if math.isfinite(low) else "")
    number = finite(name, value, rule, fix, low=low)
    if number != int(number):
        raise ValueError(Errors.L001.format(name=name, rule=rule, value=value, fix=fix))
    return int(number)


def seed_of(value: object) -> int:
    """Return a random seed.

    RAISES (ValueError): If it is no whole number (L001).
    """
    return whole("seed", value, "Any whole number is a seed.", low=-math.inf)


def parse_pairs(texts: Iterable[str], convert: Callable[[str], Any] = str) -> dict[str, Any]:
    """Parse texts such as NAME=VALUE.

    texts (Iterable[str]): The texts. White space around names and values is ignored.
    convert (Callable[[str], Any]): Converts a value, or raises ValueError.
    RETURNS (Dict[str, Any]): The values by name.
    RAISES (ValueError): If a name or value is missing or wrong, or a name is repeated.
    """
    pairs: dict[str, Any] = {}
    for text in texts:
        name, _, value = (side.strip() for side in text.partition("="))
        if not (name and value) or name in pairs:
            raise ValueError(text)
        pairs[name] = convert(value)
    return pairs


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)
