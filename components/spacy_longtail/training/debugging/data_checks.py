"""Checks of a corpus's annotation. Each takes what was counted and yields what it has to say."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

import numpy as np

from ...corpus.rare import FEW_MENTIONS, VERY_FEW_MENTIONS, rare_sentence
from ...corpus.statistics.corpus_rules import LONG
from ...corpus.statistics.records import PartStatistics, Statistics
from ...output.amounts import number, verb
from .checks import Check, Level, Said, check
from .oddities import Oddities

ALIKE = 0.83  # of difflib's ratio: PERSON and PERSNO are, CARDINAL and ORDINAL are not
COMPARED = 300  # types, each with each other


@dataclass(frozen=True)
class Counted:
    """What the checks look at."""

    found: Statistics  # without policies and diagnosis
    oddities: Mapping[str, Oddities]  # by part

    @property
    def parts(self) -> dict[str, PartStatistics]:
        return self.found.parts

    @property
    def labels(self) -> list[str]:
        return self.found.labels

    @property
    def training(self) -> dict[str, int]:
        """Training mentions by type."""
        return {t: own.mentions for t, own in self.parts["train"].types.items()}

    def absent(self, part: str) -> list[str]:
        """Declared types without a mention in a part."""
        types = self.parts[part].types
        return [t for t in self.labels if not types[t].mentions]

    def listed(self, labels: list[str]) -> str:
        """Types with their mentions in all parts."""
        types = self.found.all.types
        return ", ".join(f"{t} ({types[t].mentions:,})" for t in labels)

    def odd(self, kind: str, text: str) -> Iterator[str]:
        """What to say of a kind of oddity, for each part that has it."""
        for part, own in self.oddities.items():
            if own.n[kind]:
                examples = " / ".join(own.examples[kind])
                yield f"{part}: {text}: {own.n[kind]:,}, such as: {examples}"


@check("Parts")
def check_parts(counted: Counted) -> Said:
    for part, own in counted.parts.items():
        sizes = {"document": own.documents, "sentence": own.sentences, "mention": own.mentions}
        yield "info", f"{part}: {', '.join(number(n, noun) for noun, n in sizes.items())}."
        if not own.mentions:
            yield "fail", f"{part} has no entity."
    if "dev" not in counted.parts:
        yield "warn", "There is no dev part, without which `spacy train` does not start."
    if "test" not in counted.parts:
        yield "info", "There is no test part."


@check("Types", "Exactly the declared types are annotated, each in every part.")
def check_types(counted: Counted) -> Said:
    found = counted.found
    if found.undeclared:
        yield "fail", f"Annotated but not declared: {counted.listed(found.undeclared)}."
    never = [t for t in counted.labels if not found.all.types[t].mentions]
    if never:
        yield "warn", f"Declared but never annotated: {', '.join(never)}."
    for part in counted.parts:
        absent = [t for t in counted.absent(part) if t not in never]
        if absent:
            yield "warn", f"No mention in {part}: {counted.listed(absent)}."


@check("Types")
def check_names(counted: Counted) -> Said:
    """Types that may be one, misspelt."""
    labels = counted.labels + counted.found.undeclared
    plain: dict[str, list[str]] = {}
    for label in labels:
        plain.setdefault("".join(filter(str.isalnum, label.casefold())), []).append(label)
    for alike in plain.values():
        if len(alike) > 1:
            text = "differ in case or punctuation alone"
            yield "warn", f"Are these types one? {counted.listed(alike)} {text}."
    if len(plain) > COMPARED:
        yield "info", f"{len(plain):,} types are too many to look for misspelt ones among them."
        return
    for one, other in combinations(sorted(plain), 2):
        if SequenceMatcher(None, one, other).ratio() >= ALIKE:
            both = sorted(plain[one] + plain[other], key=labels.index)
            yield "warn", f"Are these types one? {counted.listed(both)} are spelt almost alike."


@check("Types")
def check_rare(counted: Counted) -> Said:
    """Which are rare is no fault."""
    yield "info", rare_sentence(counted.found.tail, counted.training)


@check("Amount", f"Each type has at least {FEW_MENTIONS} training mentions.")
def check_amount(counted: Counted) -> Said:
    training = counted.training
    mentions = {t: training[t] for t in counted.labels}
    very_few = [f"{t} ({n})" for t, n in mentions.items() if n < VERY_FEW_MENTIONS]
    few = [f"{t} ({n})" for t, n in mentions.items() if VERY_FEW_MENTIONS <= n < FEW_MENTIONS]
    if very_few:
        text = f"Fewer than {VERY_FEW_MENTIONS} training mentions, hardly enough to learn from"
        yield "warn", f"{text}: {', '.join(very_few)}."
    if few:
        yield "warn", f"Fewer than {FEW_MENTIONS} training mentions: {', '.join(few)}."


@check("Sentences", "Every document has sentence boundaries, and no entity crosses one.")
def check_sentences(counted: Counted) -> Said:
    for part, own in counted.parts.items():
        n, n_long = own.documents_without_boundaries, counted.oddities[part].n["sentence_long"]
        if n:
            text = "without boundaries, each one sentence for resampling and the gate"
            yield "warn", f"{part}: {number(n, 'document')} {text}."
        if n_long:
            text = f"of more than {LONG} words, the longest of {own.longest_sentence:,}"
            yield "warn", f"{part}: {number(n_long, 'sentence')} {text}."
    text = "entities across a sentence boundary, which count as not annotated"
    yield from (("warn", said) for said in counted.odd("entity_crossing", text))
    text = "sentences that open with whitespace"
    yield from (("warn", said) for said in counted.odd("boundary_whitespace", text))


ENTITIES: tuple[tuple[str, Level, str], ...] = (
    ("entity_stray", "fail", "tokens inside an entity that nothing begins"),
    ("entity_whitespace", "fail", "entities with whitespace at an end, which `ner` cannot learn"),
    ("entity_punctuation", "warn", "entities of punctuation alone"),
    ("entity_punctuation_edge", "warn", "entities with punctuation at an end"),
)


@check("Entities", "No entity has whitespace or punctuation at an end.")
def check_entities(counted: Counted) -> Said:
    for kind, level, text in ENTITIES:
        yield from ((level, said) for said in counted.odd(kind, text))


@check("Annotation", "Every token is annotated, and no text is broken.")
def check_annotation(counted: Counted) -> Said:
    for part, own in counted.parts.items():
        odd = counted.oddities[part].n
        if odd["doc_unannotated"]:
            text = "without any entity annotation, not even O, which no score counts"
            yield "warn", f"{part}: {number(odd['doc_unannotated'], 'document')} {text}."
        if own.unannotated_tokens:
            text = "without annotation, from which no pipe learns"
            yield "warn", f"{part}: {number(own.unannotated_tokens, 'token')} {text}."
        if odd["doc_empty"]:
            yield "warn", f"{part}: {number(odd['doc_empty'], 'document')} without a token."
    text = "tokens with control characters or U+FFFD, the mark of a wrong encoding"
    yield from (("warn", said) for said in counted.odd("word_broken", text))


@check("Overlap", "No text is in two parts, and none is annotated in two ways.")
def check_overlap(counted: Counted) -> Said:
    keys = {part: odd.docs.joined().words for part, odd in counted.oddities.items()}
    for one, other in combinations(keys, 2):
        n = int(np.count_nonzero(np.isin(keys[other], keys[one]) & (keys[other] != 0)))
        if n:
            yield "warn", f"{number(n, 'document')} of {other} also {verb(n, 'stand')} in {one}."
    for part, own in counted.found.leakage.items():
        n = own.sentences
        if n:
            text = f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in train"
            text = f"{text}, {own.entity_sentences:,} with an entity, such as: {own.examples[0]}"
            yield "warn", text
    n = counted.found.conflicts.texts
    if n:
        pair = " / ".join(place.text for place in counted.found.conflicts.examples[0])
        yield "warn", f"{number(n, 'text')} {verb(n, 'occur')} with different annotations: {pair}"


DATA_CHECKS: tuple[Callable[[Counted], Iterator[Check]], ...] = (
    check_parts,
    check_types,
    check_names,
    check_rare,
    check_amount,
    check_sentences,
    check_entities,
    check_annotation,
    check_overlap,
)
