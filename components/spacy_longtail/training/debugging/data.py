"""Checks of a corpus's annotation, on what was counted in one pass over its parts."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import combinations, islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Token

from ...corpus.counts import entity_bounds
from ...corpus.descriptions import CorpusTypes, read_types
from ...corpus.formats.docbin import stream_docs
from ...corpus.rare import rare_sentence
from ...corpus.statistics.corpus import described_corpus
from ...corpus.statistics.diagnosis import LONG, diagnose
from ...corpus.statistics.overlap import marked_up
from ...corpus.statistics.records import Statistics
from ...corpus.statistics.tallies import (
    PartTally,
    counted_sentences,
    present_parts,
    read_part,
)
from ...corpus.tokenizers import blank
from ...output.amounts import number
from .checks import Check, Level, Results, run_check

ALIKE = 0.83  # of difflib's ratio: PERSON and PERSNO are, CARDINAL and ORDINAL are not
COMPARED = 300  # types, each with each other
LEVELS: dict[str, Level] = {  # of the findings that are faults
    "no_entity": "fail",
    "undeclared_type": "fail",
    **dict.fromkeys(("absent_part", "absent_type", "few_mentions", "leakage", "conflict"), "warn"),
}
N_EXAMPLES = 3
CONTEXT = 3  # tokens on either side of an example
N_DOCS = 500  # of a part, whose tokens are compared: enough for a share, quick on large corpora


@dataclass
class Oddities:
    """What looks wrong in a part: counts by kind, and some examples."""

    n: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, doc: Doc) -> None:
        """Look at a document."""
        self.n["doc_empty"] += not len(doc)
        self.n["doc_unannotated"] += len(doc) > 0 and not any(t.ent_iob for t in doc)
        inside: set[int] = set()
        bounds = [own.end for own in counted_sentences(doc)]
        for start, end, _ in entity_bounds(doc):
            ends = doc[start], doc[end - 1]
            inside.update(range(start, end))
            if any(token.is_space for token in ends):
                self._note("entity_whitespace", doc, start, end)
            if all(map(_is_punctuation, doc[start:end])):
                self._note("entity_punctuation", doc, start, end)
            elif any(map(_is_punctuation, ends)):
                self._note("entity_punctuation_edge", doc, start, end)
            if any(start < bound < end for bound in bounds):
                self._note("entity_crossing", doc, start, end)
        for token in doc:
            if token.ent_iob == 1 and token.i not in inside:
                self._note("entity_stray", doc, token.i, token.i + 1)
            if token.is_space and token.i and token.is_sent_start:
                self._note("boundary_whitespace", doc, token.i, token.i + 1)
            if _is_broken(token):
                self._note("word_broken", doc, token.i, token.i + 1)
        for own in counted_sentences(doc):
            n_words = sum(not token.is_space for token in doc[own.start : own.end])
            self.n["sentence_long"] += n_words > LONG

    def _note(self, kind: str, doc: Doc, start: int, end: int) -> None:
        self.n[kind] += 1
        if len(self.examples[kind]) < N_EXAMPLES:
            around = max(start - CONTEXT, 0), min(end + CONTEXT, len(doc))
            self.examples[kind].append(marked_up(doc, *around))


def _is_punctuation(token: Token) -> bool:
    kinds = [unicodedata.category(letter) for letter in token.text]
    return all(kind[0] in "PS" for kind in kinds) and any(kind[0] == "P" for kind in kinds)


def _is_broken(token: Token) -> bool:
    """Whether it has control characters, unassigned ones, or what replaces bad bytes."""
    if token.is_alpha or token.is_space:
        return False
    kinds = {unicodedata.category(letter) for letter in token.text}
    return "\ufffd" in token.text or bool({"Cc", "Cn", "Cs"} & kinds)


@dataclass(frozen=True)
class Counted:
    """What the checks look at."""

    statistics: Statistics  # without policies and diagnosis
    oddities: Mapping[str, Oddities]  # by part
    types: CorpusTypes
    paths: Mapping[str, Path]  # by part

    def odd(self, kind: str, level: Level, text: str) -> Results:
        """What to say of a kind of oddity, for each part that has it."""
        for part, own in self.oddities.items():
            if own.n[kind]:
                examples = " / ".join(own.examples[kind])
                yield level, f"{part}: {text}: {own.n[kind]:,}, such as: {examples}"


def count_oddities(corpus: Path) -> Counted:
    """Read every part of a corpus once, for all checks. corpus (Path): As `convert` writes it."""
    types, paths = read_types(corpus), present_parts(corpus)
    tallies = {part: PartTally() for part in paths}
    oddities = {part: Oddities() for part in paths}
    for part, path in paths.items():
        for doc in read_part(path):
            tallies[part].add(doc)
            oddities[part].add(doc)
    return Counted(described_corpus(corpus, types, tallies), oddities, types, paths)


def check_findings(counted: Counted) -> Results:
    """What the statistics find, as far as it is a fault."""
    statistics = counted.statistics
    mentions = {t: own.mentions for t, own in statistics.parts["train"].types.items()}
    yield "info", rare_sentence(statistics.tail, mentions)
    for finding in diagnose(statistics):
        if finding.rule in LEVELS:
            yield LEVELS[finding.rule], f"{finding.finding} {finding.evidence} {finding.advice}"


def check_names(counted: Counted) -> Results:
    """Types that may be one, misspelt."""
    labels = counted.statistics.labels + counted.statistics.undeclared
    types = counted.statistics.all.types

    def shown(labels: list[str]) -> str:
        return ", ".join(f"{t} ({types[t].mentions:,})" for t in labels)

    plain: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        plain["".join(filter(str.isalnum, label.casefold()))].append(label)
    for alike in plain.values():
        if len(alike) > 1:
            text = "differ in case or punctuation alone"
            yield "warn", f"Are these types one? {shown(alike)} {text}."
    if len(plain) > COMPARED:
        yield "info", f"{len(plain):,} types are too many to look for misspelt ones among them."
        return
    for one, other in combinations(sorted(plain), 2):
        if SequenceMatcher(None, one, other).ratio() >= ALIKE:
            both = sorted(plain[one] + plain[other], key=labels.index)
            yield "warn", f"Are these types one? {shown(both)} are spelt almost alike."


def check_sentences(counted: Counted) -> Results:
    for part, own in counted.statistics.parts.items():
        n, n_long = own.documents_without_boundaries, counted.oddities[part].n["sentence_long"]
        if n:
            text = "without boundaries, each one sentence for resampling and the gate"
            yield "warn", f"{part}: {number(n, 'document')} {text}."
        if n_long:
            text = f"of more than {LONG} words, the longest of {own.longest_sentence:,}"
            yield "warn", f"{part}: {number(n_long, 'sentence')} {text}."
    text = "entities across a sentence boundary, which count as not annotated"
    yield from counted.odd("entity_crossing", "warn", text)
    yield from counted.odd("boundary_whitespace", "warn", "sentences that open with whitespace")


def check_entities(counted: Counted) -> Results:
    yield from counted.odd("entity_stray", "fail", "tokens inside an entity that nothing begins")
    text = "entities with whitespace at an end, which `ner` cannot learn"
    yield from counted.odd("entity_whitespace", "fail", text)
    yield from counted.odd("entity_punctuation", "warn", "entities of punctuation alone")
    yield from counted.odd("entity_punctuation_edge", "warn", "entities with punctuation at an end")


def check_annotation(counted: Counted) -> Results:
    for part, own in counted.statistics.parts.items():
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
    yield from counted.odd("word_broken", "warn", text)


def check_tokens(counted: Counted) -> Results:
    """Whether the tokens are those that a pipeline will make in production."""
    lang = counted.types.lang
    try:
        nlp = blank(lang, counted.types.tokens)
    except ValueError as error:
        yield "info", f"The tokens were not compared with the language's: {error}"
        return
    for part, path in counted.paths.items():
        yield from _compared(part, list(islice(stream_docs(path, nlp), N_DOCS)), nlp)


def _compared(part: str, docs: list[Doc], nlp: Language) -> Results:
    known = [doc for doc in docs if not doc.has_unknown_spaces]
    if len(known) < len(docs):
        text = "the tokens are given without their text, so a pipeline in production may cut others"
        n = len(docs) - len(known)
        yield "info", f"{part}: {text} ({n} of the first {len(docs)} documents)."
    n_lost, examples = 0, []
    for doc in known:
        own, made = _token_bounds(doc), _token_bounds(nlp.make_doc(doc.text))
        for start, end in sorted(own - made):
            others = [doc.text[a:b] for a, b in sorted(made) if a < end and b > start]
            examples.append(f"{doc.text[start:end]!r} is {' '.join(map(repr, others))}")
        starts, ends = {start for start, _ in made}, {end for _, end in made}
        n_lost += sum(e.start_char not in starts or e.end_char not in ends for e in doc.ents)
    if examples:
        n_tokens = sum(map(len, known))
        share = f"{len(examples):,} of {n_tokens:,} tokens ({100 * len(examples) / n_tokens:.1f} %)"
        text = f"{part}: {share} are others to the tokenizer of {nlp.lang!r}"
        yield "warn", f"{text}, such as: {' / '.join(examples[:N_EXAMPLES])}"
    elif known:
        yield "good", f"{part}: the tokenizer of {nlp.lang!r} makes the same tokens."
    if n_lost:
        text = f"{n_lost:,} of {sum(len(doc.ents) for doc in known):,} mentions end inside one"
        yield "warn", f"{part}: {text} of its tokens: in production they cannot be found."


def _token_bounds(doc: Doc) -> set[tuple[int, int]]:
    return {(token.idx, token.idx + len(token)) for token in doc}


CHECKS = (
    (check_findings, "Findings", "No type or part is absent, and no text is annotated in two ways."),
    (check_names, "Types", "No two types have names that are almost alike."),
    (check_sentences, "Sentences", "Sentence boundaries are set, and no entity crosses one."),
    (check_entities, "Entities", "No entity has whitespace or punctuation at an end."),
    (check_annotation, "Annotation", "Every token is annotated, and no text is broken."),
    (check_tokens, "Tokens", ""),
)


def check_data(counted: Counted) -> Iterator[Check]:
    """Everything that can be said of a corpus before a training."""
    for function, section, good in CHECKS:
        yield from run_check(function, section, good, counted)
