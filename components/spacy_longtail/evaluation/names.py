"""Types that the pipeline and the corpus call by different names."""

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from spacy.tokens import Span
from spacy.training import Example

from ..corpus.examples import on_gold_tokens
from ..errors import Errors, Warnings


def rename_types(examples: Sequence[Example], names: Mapping[str, str]) -> None:
    """Give predicted entities the names that the corpus has for their types, in place.

    examples (Sequence[Example]): With the predictions of a pipeline.
    names (Mapping[str, str]): The corpus's name of a type, by the pipeline's.
    """
    predicted = {ent.label_ for eg in examples for ent in eg.predicted.ents}
    for name in sorted(set(names) - predicted):
        warnings.warn(Warnings.W200.format(name=name, value=names[name]), stacklevel=3)
    if names:
        for eg in examples:
            doc = eg.predicted
            doc.ents = [Span(doc, e.start, e.end, names.get(e.label_, e.label_)) for e in doc.ents]


def check_types(examples: Sequence[Example], labels: Collection[str], model: str, data: str) -> None:
    """Warn where a pipeline predicts types that the corpus does not have, and propose their names.

    examples (Sequence[Example]): With gold annotation and predictions.
    labels (Collection[str]): The declared types. model, data (str): As messages name them.
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
    fix = f"If they are types of the corpus under other names, say so: {options or '--map THIS=THAT'}."
    shown = {
        "model": model,
        "data": data,
        "predicted": ", ".join(f"{label} ({n})" for label, n in foreign.items()),
        "fix": fix,
    }
    if len(foreign) == len(predicted):
        raise ValueError(Errors.L841.format(**shown, known=", ".join(gold)))
    warnings.warn(Warnings.W199.format(**shown), stacklevel=3)


def _likely_names(
    examples: Sequence[Example], foreign: Collection[str], missing: Collection[str]
) -> dict[str, str]:
    """Return the type of the corpus that most often stands where a foreign one is predicted."""
    together: dict[str, Counter[str]] = {label: Counter() for label in foreign}
    for eg in examples:
        gold = {(ent.start, ent.end): ent.label_ for ent in eg.reference.ents}
        for ent, start, end in on_gold_tokens(eg, eg.predicted.ents):
            label = gold.get((start, end), "")
            if ent.label_ in together and label in missing:
                together[ent.label_][label] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in together.items() if counts}
