"""What a loss has to know of each class: found in the untouched corpus at initialisation."""

import warnings
from collections.abc import Callable, Iterable, Mapping

from spacy.language import Language
from spacy.training import Example
from thinc.api import Ops

from ..chains.tags import TagCodec
from ..corpus.counts import CorpusCounts, count_doc
from ..errors import Errors, Warnings
from ..losses.base import Loss
from ..losses.token import TagLoss
from ..types import ClassPreset

Reader = Callable[[Language], Iterable[Example]]


def read_counts(
    reader: Reader | None, nlp: Language | None, preset: ClassPreset, name: str, who: str
) -> CorpusCounts:
    """Counts of the untouched corpus for a preset that needs them."""
    if reader is None or nlp is None:
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


def resolve_classes(
    loss: Loss | None,
    labels: Iterable[str],
    prefixes: str,
    *,
    reader: Reader | None,
    nlp: Language | None,
    name: str,
    who: str,
) -> dict[str, float] | None:
    """The weight, or share, of each class of a loss with a preset; None for a loss without.

    RETURNS (Optional[Dict[str, float]]): A number by "O" and type, or by "O" and tag.
    """
    preset = None if loss is None else loss.preset
    if preset is None:
        return None
    counts = CorpusCounts()
    if preset.needs_counts:
        counts = read_counts(reader, nlp, preset, name, who)
        if nlp is not None and trains_resampled(nlp):
            warnings.warn(Warnings.W004.format(who=name), stacklevel=2)
    return preset.resolve(counts.classes(preset.unit, labels, prefixes))


def with_classes(loss: Loss, codec: TagCodec, values: Mapping[str, float] | None, ops: Ops) -> Loss:
    """A loss with what `resolve_classes` found, one number per tag.

    values (Optional[Mapping[str, float]]): By class; null leaves the loss as it is.
    """
    if values is None or not isinstance(loss, TagLoss) or loss.preset is None:
        return loss
    return loss.bind(ops.asarray1f(codec.values(values, loss.preset.default(values))))
