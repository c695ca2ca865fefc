"""Class weights of a loss: resolved at initialization from the untouched training data."""

from collections.abc import Sequence

from spacy.language import Language

from ..corpus.counts import CorpusCounts, count_docs
from ..errors import Errors
from ..losses import Loss
from ..readers.base import Reader


def resolve_classes(
    loss: Loss | None,
    labels: Sequence[str],
    prefixes: str,
    reader: Reader | None,
    nlp: Language | None,
    who: str,
    name: str,
) -> dict[str, float] | None:
    """Return the weight of each class under a loss, or None if it has no class weights.

    loss (Optional[Loss]): Loss of the component.
    labels (Sequence[str]): Types that the component learns.
    prefixes (str): Prefixes of its tags or actions, such as "BI".
    reader (Optional[Callable]): Reader of the untouched corpus, for class weights that need counts.
    nlp (Optional[Language]): Pipeline to read the corpus with.
    who, name (str): Factory and name of the component, for messages.
    RETURNS (Optional[Dict[str, float]]): Weights by "O" and type, or by "O" and tag.
    RAISES (ValueError): If counts are needed and there is no reader (L004).
    """
    weights = None if loss is None else loss.class_weights
    if weights is None:
        return None
    counts = CorpusCounts()
    if weights.needs_counts:
        if reader is None or nlp is None:
            raise ValueError(Errors.L004.format(who=who, weights=type(weights).__name__, name=name))
        counts = count_docs(eg.reference for eg in reader(nlp))
    return weights.resolve(counts.classes(weights.unit, labels, prefixes))
