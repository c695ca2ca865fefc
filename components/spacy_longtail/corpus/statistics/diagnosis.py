"""What the statistics of a corpus mean for training on it: short findings, each with what to try."""

from collections.abc import Callable, Iterator, Mapping

from ...output.amounts import number, verb
from ..rare import FEW_MENTIONS
from .records import Finding, Statistics

MEASURABLE = 30  # mentions in a part that is scored
UNSEEN = 0.5  # share of test mentions
LOW_RESOURCE = 500  # training sentences

Found = Iterator[tuple[str, str, str | None]]  # the finding, its evidence, the part or null
# By rule, or by rule and part. Each names what this package has for the case, and promises nothing.
ADVICE = {
    "no_entity": "Check the path, and the annotation layer that was exported.",
    "absent_part.dev": "A training cannot choose its best model without it. `longtail split` makes one.",
    "absent_part.test": "Scores on dev are too good, since dev chose the model. Use `longtail split`.",
    "undeclared_type": "They enter no macro average. Declare them in corpus.json or fix the spelling; "
    "longtail.RelabelledCorpus.v1 leaves them out.",
    "absent_type.train": "No model can learn them, and each counts as F1 = 0 in the macro average.",
    "absent_type.dev": "Model selection is blind to them. `longtail split` gives every part its share.",
    "absent_type.test": "Their F1 is 0 whatever the model does. `longtail split` gives each part some.",
    "conflict": "No model can agree with both. `longtail audit` lists more suspects.",
    "leakage": "Scores on them are memory. `longtail split` keeps equal texts in one part.",
    "few_mentions": "More annotation is the surest help (`longtail mine` says of what). Then start from "
    "an encoder that has seen entities elsewhere: `longtail init-config pretrained` for English, "
    "docs/encoders.md. `longtail recommend` compares the rest.",
    "not_measurable.dev": "Where such a type decides, the best model is chosen by luck. Weigh ents_f "
    "beside ents_macro_f in [training.score_weights], or make a larger dev part.",
    "not_measurable.test": "Do not compare models on these types alone: take ents_tail_f over several "
    "seeds, or a larger test part (`longtail split --min-mentions`).",
    "unseen": "A model that remembers names will miss them. Try a transformer as the encoder "
    "(docs/token_ner.md), and more varied mentions (longtail.mention_replacement.v1).",
    "low_resource": "Start from a pretrained encoder: `longtail init-config pretrained` for English, or "
    "a transformer. Without one try `longtail init-config token_two_task`, made for this size.",
}


def percent(share: float) -> str:
    """A share in [0, 1], with a decimal where it is small."""
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def _of_types(text: str, evidence: Mapping[str, str], part: str | None = None) -> Found:
    """A finding about types, if there are any.

    text (str): With {types}, and {have} where they do. evidence (Mapping[str, str]): By type.
    """
    if evidence:
        n = len(evidence)
        shown = text.format(types=number(n, "type"), have=verb(n, "have"))
        listed = "; ".join(f"{label}: {own}" for label, own in evidence.items())
        yield f"{shown}: {', '.join(evidence)}.", f"{listed}.", part


def no_entity(of: Statistics) -> Found:
    training = of.parts["train"]
    if not training.mentions:
        yield "Training has no entity.", f"Tokens that are O: {training.tokens:,}.", None


def absent_part(of: Statistics) -> Found:
    for part in [part for part in ("dev", "test") if part not in of.parts]:
        yield f"There is no {part} part.", f"Found: {', '.join(of.parts)}.", part


def undeclared_type(of: Statistics) -> Found:
    if n := len(of.undeclared):
        text = f"{number(n, 'type')} {verb(n, 'occur')} without being declared"
        yield f"{text}: {', '.join(of.undeclared)}.", f"Declared: {', '.join(of.labels)}.", None


def absent_type(of: Statistics) -> Found:
    for part, counts in of.parts.items():
        absent = {
            t: ", ".join(f"{own.types[t].mentions} in {name}" for name, own in of.parts.items())
            for t in of.labels
            if not counts.types[t].mentions
        }
        if len(absent) < len(of.labels):  # else the part has no entity at all
            yield from _of_types(f"{{types}} {{have}} no mention in {part}", absent, part)


def conflict(of: Statistics) -> Found:
    if n := of.conflicts.texts:
        evidence = " / ".join(f"{own.part}: {own.text}" for own in of.conflicts.examples[0])
        yield f"{number(n, 'text')} {verb(n, 'occur')} with different annotations.", evidence, None


def leakage(of: Statistics) -> Found:
    for part, own in of.leakage.items():
        if own.entity_sentences:
            n = own.sentences
            text = f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in training"
            evidence = f"{percent(own.share)} of {part}, such as: {own.examples[0]}"
            yield f"{text}, {own.entity_sentences:,} with an entity.", evidence, part


def few_mentions(of: Statistics) -> Found:
    types = of.parts["train"].types
    few = {
        t: f"{number(own.mentions, 'mention')} in {number(own.sentences, 'sentence')}"
        for t, own in types.items()
        if t in of.labels and 0 < own.mentions < FEW_MENTIONS
    }
    yield from _of_types(f"{{types}} {{have}} fewer than {FEW_MENTIONS} mentions in training", few)


def not_measurable(of: Statistics) -> Found:
    for part in [part for part in of.parts if part != "train"]:
        few = {
            t: f"{number(n, 'mention')}, one is {100 / n:.3g} points of recall"
            for t in of.labels
            if 0 < (n := of.parts[part].types[t].mentions) < MEASURABLE
        }
        text = f"{{types}} {{have}} fewer than {MEASURABLE} mentions in {part}, too few to measure"
        yield from _of_types(text, few, part)


def unseen(of: Statistics) -> Found:
    new = {
        t: f"{percent(share)} of {number(of.parts['test'].types[t].mentions, 'mention')}"
        for t in of.labels
        if (share := of.unseen[t] or 0.0) >= UNSEEN
    }
    yield from _of_types("Most test mentions of {types} have a wording that is new", new)


def low_resource(of: Statistics) -> Found:
    training = of.parts["train"]
    if training.sentences < LOW_RESOURCE:
        evidence = f"{number(training.sentences, 'sentence')}, {number(training.mentions, 'mention')}."
        yield f"Training has fewer than {LOW_RESOURCE} sentences.", evidence, None


RULES: tuple[Callable[[Statistics], Found], ...] = (
    *(no_entity, absent_part, undeclared_type, absent_type, conflict, leakage, few_mentions),
    *(not_measurable, unseen, low_resource),
)


def diagnose(statistics: Statistics) -> list[Finding]:
    """All findings, the most serious first.

    RETURNS (List[Finding]): One for each rule that applies, or for each part where parts differ.
    """
    return [
        Finding(
            rule=rule.__name__,
            part=part,
            finding=text,
            evidence=evidence,
            advice=ADVICE.get(f"{rule.__name__}.{part}") or ADVICE[rule.__name__],
        )
        for rule in RULES
        for text, evidence, part in rule(statistics)
    ]
