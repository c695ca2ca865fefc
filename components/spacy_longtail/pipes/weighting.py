"""The class weights of a loss: found in the untouched corpus at initialisation."""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.language import Language
from spacy.training import Example

from ..corpus.counts import CorpusCounts, count_docs
from ..errors import Errors

Reader = Callable[[Language], Iterable[Example]]


def resolve_classes(
    pipe: Any, prefixes: str, reader: Reader | None, nlp: Language | None, who: str
) -> dict[str, float] | None:
    """The weight of each class of a pipe's loss with a preset; None for a loss without.

    reader (Optional[Callable]): Of the untouched corpus, for a preset that needs its counts.
    RETURNS (Optional[Dict[str, float]]): A number by "O" and type, or by "O" and tag.
    """
    preset = None if pipe.loss is None else pipe.loss.preset
    if preset is None:
        return None
    counts = CorpusCounts()
    if preset.needs_counts:
        if reader is None or nlp is None:
            raise ValueError(Errors.L004.format(who=who, preset=type(preset).__name__, name=pipe.name))
        counts = count_docs(eg.reference for eg in reader(nlp))
    values: dict[str, float] = preset.resolve(counts.classes(preset.unit, pipe.labels, prefixes))
    return values
