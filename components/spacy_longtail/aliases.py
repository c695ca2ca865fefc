"""Earlier names of options and settings, which version 0.4 will not accept.

Until version 0.3, rare types were called weak. Names that saved pipelines and configs contain keep
that word: the spans `weak_sentences`, the scores `weak_sents_f` and `weak_ents_f`, `weak_weight`.
"""

import warnings
from typing import TypeVar

from .errors import Warnings

OPTIONS = {"--products": "--matmul", "--cap": "--max-mentions"}
SETTINGS = {"weak_labels": "rare_labels"}

Value = TypeVar("Value")


def renamed(earlier_name: str, earlier: Value | None, value: Value, who: str) -> Value:
    """Return the value of a setting, or with a warning the one under its earlier name.

    earlier_name (str): A key of SETTINGS.
    earlier (Optional[Any]): Value under the earlier name; null if it was not given.
    value (Any): Value under today's name.
    who (str): Name of the component.
    """
    if earlier is None:
        return value
    names = {"earlier": earlier_name, "today": SETTINGS[earlier_name]}
    warnings.warn(Warnings.W114.format(name=who, **names), FutureWarning, stacklevel=4)
    return earlier
