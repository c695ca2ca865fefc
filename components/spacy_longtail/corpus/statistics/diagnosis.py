"""Diagnosis of a corpus: what its statistics mean for training, and what to try."""

from collections.abc import Callable, Iterator, Mapping

from ...output.console import number, verb
from ..rare import FEW_MENTIONS
from . import Finding, Statistics

MIN_MEASURABLE = 30  # mentions of a type in a part that is scored
MIN_UNSEEN = 0.5  # fraction of a type's test mentions
MIN_NEAR = 0.1  # fraction of a part's sentences
LOW_RESOURCE = 500  # training sentences

Row = tuple[str | None, str, str]  # part or null, finding and evidence

# by rule, or by rule and part
ADVICE = {
    "no_entity": "Check the path, and the annotation layer that was exported.",
    "absent_part.dev": "A training cannot choose its best model without it. `longtail split` makes one.",
    "absent_part.test": "Scores on dev are too good, since dev chose the model. Use `longtail split`.",
    "undeclared_type": "They enter no macro average. Declare them in corpus.json or fix the spelling; "
    "longtail.RelabelledCorpus.v1 removes them.",
    "absent_type.train": "A pipeline that was not pretrained cannot find them: F1 = 0, in the macro "
    "average too. `longtail init-config pretrained_cnn` starts from an encoder that finds types by "
    "their descriptions in corpus.json, and `longtail mine` finds sentences to label.",
    "absent_type.dev": "Model selection is blind to them. `longtail split` gives every part its share.",
    "absent_type.test": "Their F1 is 0 whatever the model does. `longtail split` gives each part some.",
    "conflict": "No model can agree with both. `longtail audit` lists more suspects.",
    "leakage": "Scores on them are memory. `longtail split` keeps documents together that share a "
    "sentence, and names the sentences that are in too many documents for that.",
    "near_leakage": "Scores on them are partly memory. `longtail split --near` keeps documents with "
    "such sentences together.",
    "few_mentions": "More annotation is the surest help: `longtail mine` proposes sentences. Then start "
    "from an encoder that has seen entities elsewhere: `longtail init-config pretrained_cnn`, "
    "docs/encoders.md. `longtail recommend` compares the rest.",
    "not_measurable.dev": "Where such a type decides, the best model is chosen by luck. Weigh ents_f "
    "beside ents_macro_f in [training.score_weights], or make a larger dev part.",
    "not_measurable.test": "Do not compare models on these types alone: take ents_tail_f over several "
    "seeds, or a larger test part (`longtail split --min-mentions`).",
    "unseen": "A model that remembers names will miss them. Start from a pretrained encoder, and put "
    "lists of names beside the corpus if you have any (docs/what_else.md).",
    "low_resource": "Start from a pretrained encoder: `longtail init-config pretrained_cnn`, or for "
    "English with torch `longtail init-config transformer`.",
}


def diagnose(statistics: Statistics) -> list[Finding]:
    """Return all findings, the most serious first.

    RETURNS (List[Finding]): One for each rule that applies, or for each part where parts differ.
    """
    return [
        Finding(
            rule=rule,
            part=part,
            finding=text,
            evidence=evidence,
            advice=ADVICE.get(f"{rule}.{part}") or ADVICE[rule],
        )
        for rule, check in RULES.items()
        for part, text, evidence in check(statistics)
    ]


def _no_entity(statistics: Statistics) -> Iterator[Row]:
    training = statistics.parts["train"]
    if not training.mentions:
        yield None, "Training has no entity.", f"Tokens that are O: {training.tokens:,}."


def _absent_part(statistics: Statistics) -> Iterator[Row]:
    for part in ("dev", "test"):
        if part not in statistics.parts:
            yield part, f"There is no {part} part.", f"Found: {', '.join(statistics.parts)}."


def _undeclared_type(statistics: Statistics) -> Iterator[Row]:
    if n := len(statistics.undeclared):
        names = ", ".join(statistics.undeclared)
        text = f"{number(n, 'type')} {verb(n, 'occur')} without being declared: {names}."
        yield None, text, f"Declared: {', '.join(statistics.labels)}."


def _absent_type(statistics: Statistics) -> Iterator[Row]:
    for part, counts in statistics.parts.items():
        absent = {
            t: ", ".join(
                f"{other.types[t].mentions} in {name}" for name, other in statistics.parts.items()
            )
            for t in statistics.labels
            if not counts.types[t].mentions
        }
        if len(absent) < len(statistics.labels):  # else the part has no entity at all
            yield from _of_types(part, f"{{types}} {{have}} no mention in {part}", absent)


def _conflict(statistics: Statistics) -> Iterator[Row]:
    if n := statistics.conflicts.texts:
        places = statistics.conflicts.examples[0]
        text = f"{number(n, 'text')} {verb(n, 'occur')} with different annotations."
        yield None, text, " / ".join(f"{place.part}: {place.text}" for place in places)


def _leakage(statistics: Statistics) -> Iterator[Row]:
    for part, leaked in statistics.leakage.items():
        if leaked.entity_sentences:
            n = leaked.sentences
            text = (
                f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in training, "
                f"{leaked.entity_sentences:,} with an entity."
            )
            yield part, text, f"{100 * leaked.share:.2g} % of {part}, such as: {leaked.examples[0]}"


def _near_leakage(statistics: Statistics) -> Iterator[Row]:
    for part, leaked in statistics.leakage.items():
        if (n := leaked.near) and n >= MIN_NEAR * statistics.parts[part].sentences:
            text = (
                f"{number(n, 'sentence')} of {part} {verb(n, 'differ')} from a training sentence "
                "in names and numbers alone."
            )
            yield part, text, f"{100 * n / statistics.parts[part].sentences:.2g} % of {part}."


def _few_mentions(statistics: Statistics) -> Iterator[Row]:
    few = {
        t: f"{number(counts.mentions, 'mention')} in {number(counts.sentences, 'sentence')}"
        for t, counts in statistics.parts["train"].types.items()
        if t in statistics.labels and 0 < counts.mentions < FEW_MENTIONS
    }
    yield from _of_types(None, f"{{types}} {{have}} fewer than {FEW_MENTIONS} mentions in training", few)


def _not_measurable(statistics: Statistics) -> Iterator[Row]:
    for part in [part for part in statistics.parts if part != "train"]:
        few = {
            t: f"{number(n, 'mention')}, one is {100 / n:.3g} points of recall"
            for t in statistics.labels
            if 0 < (n := statistics.parts[part].types[t].mentions) < MIN_MEASURABLE
        }
        text = f"{{types}} {{have}} fewer than {MIN_MEASURABLE} mentions in {part}, too few to measure"
        yield from _of_types(part, text, few)


def _unseen(statistics: Statistics) -> Iterator[Row]:
    new = {
        t: f"{100 * share:.0f} % of {number(statistics.parts['test'].types[t].mentions, 'mention')}"
        for t, share in statistics.unseen.items()
        if share is not None and share >= MIN_UNSEEN
    }
    yield from _of_types(None, "Most test mentions of {types} have a wording that is new", new)


def _low_resource(statistics: Statistics) -> Iterator[Row]:
    training = statistics.parts["train"]
    if training.sentences < LOW_RESOURCE:
        amounts = f"{number(training.sentences, 'sentence')}, {number(training.mentions, 'mention')}"
        yield None, f"Training has fewer than {LOW_RESOURCE} sentences.", f"{amounts}."


# the most serious first
RULES: dict[str, Callable[[Statistics], Iterator[Row]]] = {
    "no_entity": _no_entity,
    "absent_part": _absent_part,
    "undeclared_type": _undeclared_type,
    "absent_type": _absent_type,
    "conflict": _conflict,
    "leakage": _leakage,
    "near_leakage": _near_leakage,
    "few_mentions": _few_mentions,
    "not_measurable": _not_measurable,
    "unseen": _unseen,
    "low_resource": _low_resource,
}


def _of_types(part: str | None, text: str, evidence: Mapping[str, str]) -> Iterator[Row]:
    """Yield a finding about types, if there are any.

    part (Optional[str]): The part that it is about, if parts differ.
    text (str): The finding, with {types} and {have}.
    evidence (Mapping[str, str]): The evidence for each type.
    """
    if n := len(evidence):
        shown = text.format(types=number(n, "type"), have=verb(n, "have"))
        listed = "; ".join(f"{label}: {value}" for label, value in evidence.items())
        yield part, f"{shown}: {', '.join(evidence)}.", f"{listed}."
