"""Class weights of a loss: checked when a pipe is built, resolved at initialisation, kept in its cfg."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from spacy.language import Language
from spacy.training import Example

from ..counts import CorpusCounts, count_doc
from ..errors import Errors, Warnings
from ..types import GoldLoss

Reader = Callable[[Language], Iterable[Example]]


def check_loss(loss: Any, who: str) -> GoldLoss | None:
    """The loss, if it is one of p(gold) or null. RAISES (ValueError): L003."""
    if loss is not None and not isinstance(loss, GoldLoss):
        raise ValueError(Errors.L003.format(who=who, found=repr(loss)))
    return loss


def read_counts(
    reader: Reader | None, nlp: Language | None, loss: GoldLoss, name: str, who: str
) -> CorpusCounts:
    """Counts of the untouched corpus for a preset that needs them. RAISES (ValueError): L004."""
    if reader is None or nlp is None:
        preset = getattr(loss, "weights", None)
        raise ValueError(Errors.L004.format(who=who, preset=type(preset).__name__, name=name))
    counts = CorpusCounts()
    for eg in reader(nlp):
        counts.add(count_doc(eg.reference))
    return counts


def trains_resampled(nlp: Language) -> bool:
    """Whether the config's training corpus is one of this package's resampling readers."""
    config = nlp.config.interpolate()
    block = config
    for part in config["training"]["train_corpus"].split("."):
        block = block.get(part, {}) if isinstance(block, dict) else {}
    reader = block.get("@readers", "") if isinstance(block, dict) else ""
    return reader.startswith("longtail.ResampledCorpus")


def resolve_weights(
    loss: GoldLoss | None,
    labels: Iterable[str],
    prefixes: str,
    *,
    reader: Reader | None,
    nlp: Language | None,
    name: str,
    who: str,
) -> dict[str, float] | None:
    """The weight of each class of a loss with a preset, or None for a loss without.

    RETURNS (Optional[Dict[str, float]]): Weight by "O" and type, or by "O" and tag.
    """
    preset = getattr(loss, "weights", None)
    if loss is None or preset is None:
        return None
    counts = CorpusCounts()
    if preset.needs_counts:
        counts = read_counts(reader, nlp, loss, name, who)
        if nlp is not None and trains_resampled(nlp):
            warnings.warn(Warnings.W004.format(who=name), stacklevel=2)
    return preset.resolve(counts.classes(preset.unit, labels, prefixes))
