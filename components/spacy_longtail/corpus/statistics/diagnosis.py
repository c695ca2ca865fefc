"""Diagnosis of a corpus: what its statistics mean for training, and what to try."""

from collections.abc import Iterator, Mapping

from ...output.amounts import number, verb
from ..rare import FEW_MENTIONS
from . import Finding, Statistics

MEASURABLE = 30  # mentions in a part that is scored
UNSEEN = 0.5  # share of test mentions
NEAR = 0.1  # share of a part's sentences
LOW_RESOURCE = 500  # training sentences

# By rule, or by rule and part, the most serious first
ADVICE = {
    "no_entity": "Check the path, and the annotation layer that was exported.",
    "absent_part.dev": "A training cannot choose its best model without it. `longtail split` makes one.",
    "absent_part.test": "Scores on dev are too good, since dev chose the model. Use `longtail split`.",
    "undeclared_type": "They enter no macro average. Declare them in corpus.json or fix the spelling; "
    "longtail.RelabelledCorpus.v1 leaves them out.",
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
    order = list(dict.fromkeys(key.partition(".")[0] for key in ADVICE))
    findings = []
    for rule, part, text, evidence in sorted(_findings(statistics), key=lambda row: order.index(row[0])):
        advice = ADVICE.get(f"{rule}.{part}") or ADVICE[rule]
        findings.append(Finding(rule=rule, part=part, finding=text, evidence=evidence, advice=advice))
    return findings


def _findings(of: Statistics) -> Iterator[tuple[str, str | None, str, str]]:
    """Yield rule, part or null, finding and evidence."""
    training, test = of.parts["train"], of.parts.get("test")
    if not training.mentions:
        yield "no_entity", None, "Training has no entity.", f"Tokens that are O: {training.tokens:,}."
    for part in [part for part in ("dev", "test") if part not in of.parts]:
        yield "absent_part", part, f"There is no {part} part.", f"Found: {', '.join(of.parts)}."
    if n := len(of.undeclared):
        names = ", ".join(of.undeclared)
        text = f"{number(n, 'type')} {verb(n, 'occur')} without being declared: {names}."
        yield "undeclared_type", None, text, f"Declared: {', '.join(of.labels)}."
    for part, counts in of.parts.items():
        absent = {
            t: ", ".join(f"{part.types[t].mentions} in {name}" for name, part in of.parts.items())
            for t in of.labels
            if not counts.types[t].mentions
        }
        if absent and len(absent) < len(of.labels):  # else the part has no entity at all
            yield "absent_type", part, *_of_types(f"{{types}} {{have}} no mention in {part}", absent)
        few = {
            t: f"{number(n, 'mention')}, one is {100 / n:.3g} points of recall"
            for t in of.labels
            if 0 < (n := counts.types[t].mentions) < MEASURABLE
        }
        if few and part != "train":
            text = f"{{types}} {{have}} fewer than {MEASURABLE} mentions in {part}, too few to measure"
            yield "not_measurable", part, *_of_types(text, few)
    if n := of.conflicts.texts:
        evidence = " / ".join(f"{variant.part}: {variant.text}" for variant in of.conflicts.examples[0])
        text = f"{number(n, 'text')} {verb(n, 'occur')} with different annotations."
        yield "conflict", None, text, evidence
    for part, sentences in of.leakage.items():
        if sentences.entity_sentences:
            n = sentences.sentences
            yield (
                "leakage",
                part,
                f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in training, "
                f"{sentences.entity_sentences:,} with an entity.",
                f"{100 * sentences.share:.2g} % of {part}, such as: {sentences.examples[0]}",
            )
        if (n := sentences.near) and n >= NEAR * of.parts[part].sentences:
            yield (
                "near_leakage",
                part,
                f"{number(n, 'sentence')} of {part} {verb(n, 'differ')} from a training sentence "
                "in names and numbers alone.",
                f"{100 * n / of.parts[part].sentences:.2g} % of {part}.",
            )
    few = {
        t: f"{number(counts.mentions, 'mention')} in {number(counts.sentences, 'sentence')}"
        for t, counts in training.types.items()
        if t in of.labels and 0 < counts.mentions < FEW_MENTIONS
    }
    if few:
        text = f"{{types}} {{have}} fewer than {FEW_MENTIONS} mentions in training"
        yield "few_mentions", None, *_of_types(text, few)
    new = {
        t: f"{100 * share:.0f} % of {number(test.types[t].mentions, 'mention')}"
        for t, share in of.unseen.items()
        if test and share is not None and share >= UNSEEN
    }
    if new:
        text = "Most test mentions of {types} have a wording that is new"
        yield "unseen", None, *_of_types(text, new)
    if training.sentences < LOW_RESOURCE:
        yield (
            "low_resource",
            None,
            f"Training has fewer than {LOW_RESOURCE} sentences.",
            f"{number(training.sentences, 'sentence')}, {number(training.mentions, 'mention')}.",
        )


def _of_types(text: str, evidence: Mapping[str, str]) -> tuple[str, str]:
    """Return a finding about types and its evidence. text (str): With {types} and {have}."""
    n = len(evidence)
    shown = text.format(types=number(n, "type"), have=verb(n, "have"))
    listed = "; ".join(f"{label}: {value}" for label, value in evidence.items())
    return f"{shown}: {', '.join(evidence)}.", f"{listed}."
