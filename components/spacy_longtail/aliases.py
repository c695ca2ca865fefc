"""Earlier names of options and settings, which version 0.4 will not accept.

Until version 0.3, rare types were called weak. Names that saved pipelines and configs contain keep
that word: the spans `weak_sentences`, the scores `weak_sents_f` and `weak_ents_f`, `weak_weight`.

The setting `weak_labels` of the gates stays a parameter in version 0.4, because spaCy writes all
defaults into the config of a saved pipeline, so that each of them contains `weak_labels = null`.
Version 0.4 accepts only null there, and refuses any other value.
"""

import warnings
from typing import TypeVar

from .errors import Warnings

OPTIONS = {  # by command
    "train": {"--products": "--matmul"},
    "distil": {"--cap": "--max-mentions"},
    "pretrain": {"--words": "--batch-size"},
}
SETTINGS = {"weak_labels": "rare_labels"}

Value = TypeVar("Value")


def chosen_labels(weak_labels: Value | None, rare_labels: Value, who: str) -> Value:
    """Return the rare types of a gate, or with a warning those under the earlier name.

    weak_labels (Optional[Any]): Value under the earlier name; null if it was not given.
    rare_labels (Any): Value under today's name.
    who (str): Name of the component.
    """
    if weak_labels is None:
        return rare_labels
    said = Warnings.W114.format(name=who, earlier="weak_labels", today="rare_labels")
    warnings.warn(said, FutureWarning, stacklevel=4)
    return weak_labels
