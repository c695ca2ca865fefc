"""Types with different names in the pipeline and in the corpus."""

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from spacy.tokens import Span
from spacy.training import Example

from ..corpus.examples import on_gold_tokens
from ..errors import Errors, Warnings


def rename_types(examples: Sequence[Example], names: Mapping[str, str]) -> None:
    """Rename the types of predicted entities to the corpus's names, in place.

    examples (Sequence[Example]): Examples with the predictions of a pipeline.
    names (Mapping[str, str]): Name of a type in the corpus, by its name in the pipeline.
    """
    predicted = {ent.label_ for eg in examples for ent in eg.predicted.ents}
    for name in sorted(set(names) - predicted):
        warnings.warn(Warnings.W200.format(name=name, value=names[name]), stacklevel=3)
    if names:
        for eg in examples:
            doc = eg.predicted
            doc.ents = [Span(doc, e.start, e.end, names.get(e.label_, e.label_)) for e in doc.ents]


def check_types(examples: Sequence[Example], labels: Collection[str], model: str, data: str) -> None:
    """Warn of predicted types that the corpus does not have, and suggest names of the corpus.

    examples (Sequence[Example]): Examples with gold annotation and predictions.
    labels (Collection[str]): The declared types.
    model (str): Name of the pipeline for messages.
    data (str): Name of the data for messages.
    RAISES (ValueError): If no predicted type is declared or occurs in the data.
    """
    gold = Counter(ent.label_ for eg in examples for ent in eg.reference.ents)
    predicted = Counter(ent.label_ for eg in examples for ent in eg.predicted.ents)
    foreign = {t: n for t, n in predicted.most_common() if t not in labels and t not in gold}
    if not foreign or not gold:
        return
    missing = [label for label in dict.fromkeys([*labels, *gold]) if label not in predicted]
    pairs = _likely_names(examples, foreign, missing)
    options = " ".join(f"--map {name}={label}" for name, label in pairs.items())
    shown = {
        "model": model,
        "data": data,
        "predicted": ", ".join(f"{label} ({n})" for label, n in foreign.items()),
        "fix": f"If the corpus has these types under other names, add {options or '--map THIS=THAT'}.",
    }
    if len(foreign) == len(predicted):
        raise ValueError(Errors.L841.format(**shown, known=", ".join(gold)))
    warnings.warn(Warnings.W199.format(**shown), stacklevel=3)


def _likely_names(
    examples: Sequence[Example], foreign: Collection[str], missing: Collection[str]
) -> dict[str, str]:
    """Return the corpus type that is most often annotated where an unknown type is predicted."""
    together: dict[str, Counter[str]] = {label: Counter() for label in foreign}
    for eg in examples:
        gold = {(ent.start, ent.end): ent.label_ for ent in eg.reference.ents}
        for ent, start, end in on_gold_tokens(eg, eg.predicted.ents):
            label = gold.get((start, end), "")
            if ent.label_ in together and label in missing:
                together[ent.label_][label] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in together.items() if counts}
