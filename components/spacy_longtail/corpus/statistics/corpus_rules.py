"""Findings about a corpus as a whole. A rule takes its statistics and yields what it finds."""

from collections.abc import Iterator

from ...output.amounts import number, verb
from .findings import make_finding, percent
from .records import Finding, Statistics

SPARSE, DENSE = 0.5, 0.8  # share of training sentences with an entity
REPEATED = 0.05  # share of training sentences that repeat another
LOW_RESOURCE = 500  # training sentences
LONG = 200  # words of a sentence


def no_entity(found: Statistics) -> Iterator[Finding]:
    own = found.parts["train"]
    if not own.mentions:
        evidence = f"Tokens that are O: {own.tokens:,}; not annotated: {own.unannotated_tokens:,}."
        yield make_finding("no_entity", "Training has no entity.", evidence)


def absent_part(found: Statistics) -> Iterator[Finding]:
    for part in ("dev", "test"):
        if part not in found.parts:
            present = f"Found: {', '.join(found.parts)}."
            yield make_finding("absent_part", f"There is no {part} part.", present, part)


def conflict(found: Statistics) -> Iterator[Finding]:
    n = found.conflicts.texts
    if n:
        pair = found.conflicts.examples[0]
        evidence = " / ".join(f"{place.part}: {place.text}" for place in pair)
        text = f"{number(n, 'text')} {verb(n, 'occur')} with different annotations."
        yield make_finding("conflict", text, evidence)


def leakage(found: Statistics) -> Iterator[Finding]:
    for part, own in found.leakage.items():
        n = own.sentences
        if own.entity_sentences:
            text = f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in training"
            evidence = f"{percent(own.share)} of {part}, such as: {own.examples[0]}"
            text = f"{text}, {own.entity_sentences:,} with an entity."
            yield make_finding("leakage", text, evidence, part)


def low_resource(found: Statistics) -> Iterator[Finding]:
    own = found.parts["train"]
    if own.sentences < LOW_RESOURCE:
        evidence = f"{number(own.sentences, 'sentence')}, {number(own.mentions, 'mention')}."
        text = f"Training has fewer than {LOW_RESOURCE} sentences."
        yield make_finding("low_resource", text, evidence)


def sparse(found: Statistics) -> Iterator[Finding]:
    share, policies = found.parts["train"].entity_sentence_share, found.policies
    if 0 < share < SPARSE:
        over, under = policies["sCR"].sentences, policies["RandomUndersampling"].sentences
        evidence = (
            f"sCR makes the part {over:.1f} times as large and adds copies of these alone; "
            f"RandomUndersampling keeps {percent(under)} of it."
        )
        text = f"Only {percent(share)} of the training sentences have an entity."
        yield make_finding("sparse", text, evidence)


def dense(found: Statistics) -> Iterator[Finding]:
    own, policies = found.parts["train"], found.policies
    factors = policies["sCR"].types if policies else {}
    if len(factors) > 1 and own.entity_sentence_share > DENSE:
        ranked = sorted(factors, key=lambda t: own.types[t].mentions)
        rarest, most = ranked[0], ranked[-1]
        evidence = (
            f"Resampling reaches frequent types too: sCR multiplies the tokens of {rarest} by "
            f"{factors[rarest]:.1f}, those of {most} by {factors[most]:.1f}."
        )
        text = f"{percent(own.entity_sentence_share)} of the training sentences have an entity."
        yield make_finding("dense", text, evidence)


def repetition(found: Statistics) -> Iterator[Finding]:
    n_repeated, n_all = found.duplicates["train"].sentences, found.parts["train"].sentences
    if n_all and n_repeated >= REPEATED * n_all:
        example = found.duplicates["train"].examples[0]
        text = f"{percent(n_repeated / n_all)} of the training sentences repeat another one."
        yield make_finding("repetition", text, f"{example.times:,} times: {example.text}")


def no_context(found: Statistics) -> Iterator[Finding]:
    own = found.parts["train"]
    if 1 < own.documents == own.one_sentence_documents and not own.documents_without_boundaries:
        text = "Every training document is a single sentence."
        yield make_finding("no_context", text, f"{own.documents:,} documents.")


def unbounded(found: Statistics) -> Iterator[Finding]:
    for part, own in found.parts.items():
        n = own.documents_without_boundaries
        if n and own.longest_sentence > LONG:
            text = f"{number(n, 'document')} of {part} {verb(n, 'have')} no sentence boundaries."
            evidence = f"The longest sentence of the part has {own.longest_sentence:,} words."
            yield make_finding("unbounded", text, evidence, part)
