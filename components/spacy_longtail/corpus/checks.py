"""Checks of a corpus: faults of its annotation, its sentences and its types."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import combinations, islice
from pathlib import Path
from typing import Literal, NamedTuple

from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Token

from ..sentences import all_bounds, has_boundaries
from .converted import ConvertedCorpus
from .counts import entity_bounds
from .descriptions import CorpusTypes
from .parts import bare_vocab, stream_docs
from .rare import rare_sentence
from .statistics import Statistics
from .statistics.counting import marked_up

Level = Literal["info", "good", "warn", "fail"]
Results = Iterator[tuple[Level, str]]

MAX_WORDS = 200  # of a sentence
MIN_SIMILARITY = 0.83  # difflib's ratio: PERSON and PERSNO reach it, CARDINAL and ORDINAL do not
MAX_TYPES = 300  # types that are compared, each with each other
LEVELS: dict[str, Level] = {  # of the findings that are faults
    "no_entity": "fail",
    "undeclared_type": "fail",
    **dict.fromkeys(("absent_part", "absent_type", "few_mentions", "leakage", "conflict"), "warn"),
}
SENTENCE_ENDS = frozenset(Sentencizer.default_punct_chars)
N_EXAMPLES = 3
N_CONTEXT = 3  # tokens on either side of an example
MAX_DOCS = 500  # documents of a part whose tokens are compared, so that large corpora take no longer
ODDITIES: dict[str, dict[str, tuple[Level, str]]] = {  # by section and kind
    "Sentences": {
        "unbounded": (
            "warn",
            "documents with several sentences but no boundaries, each treated as one sentence",
        ),
        "long": ("warn", f"sentences of more than {MAX_WORDS} words"),
        "crossing": ("warn", "entities across a sentence boundary, which count as not annotated"),
        "opening_space": ("warn", "sentences that open with whitespace"),
    },
    "Entities": {
        "stray": ("fail", "tokens inside an entity that nothing begins"),
        "space": ("fail", "entities with whitespace at an end, which `ner` cannot learn"),
        "punctuation": ("warn", "entities with punctuation at an end, or of it alone"),
    },
    "Annotation": {
        "unannotated": ("warn", "documents without annotation, not even O, which no score counts"),
        "unannotated_word": ("warn", "words without annotation, from which no pipe learns"),
        "empty": ("warn", "documents without a token"),
        "broken": ("warn", "tokens with control characters or U+FFFD, the mark of a wrong encoding"),
        "decomposed": (
            "warn",
            "words with accents apart from their letters (NFD): other words to spaCy",
        ),
    },
}


class Check(NamedTuple):
    level: Level
    section: str
    text: str


def run_check(results: Results, section: str, good: str = "") -> Iterator[Check]:
    """Yield the results of a check, or `good` if it finds no fault."""
    clean = True
    for level, text in results:
        clean = clean and level in ("info", "good")
        yield Check(level, section, text)
    if clean and good:
        yield Check("good", section, good)


@dataclass
class Oddities:
    """Oddities of a part: number of each kind, and some examples."""

    n: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, doc: Doc) -> None:
        """Count the oddities of a document."""
        sentences = all_bounds(doc)
        is_bare = len(doc) > 0 and not any(token.ent_iob for token in doc)
        self.n["empty"] += not len(doc)
        self._note("unbounded", doc, 0, 1, not has_boundaries(doc) and _has_inner_end(doc))
        self._note("unannotated", doc, 0, 1, is_bare)
        for start, end in sentences:
            n_words = sum(not token.is_space for token in doc[start:end])
            self._note("long", doc, start, start + 1, n_words > MAX_WORDS)
        inside: set[int] = set()
        for start, end, _ in entity_bounds(doc):
            inside.update(range(start, end))
            ends = doc[start], doc[end - 1]
            is_odd = any(map(_is_punctuation, ends))
            self._note("space", doc, start, end, any(token.is_space for token in ends))
            self._note("punctuation", doc, start, end, is_odd)
            self._note("crossing", doc, start, end, any(start < at < end for _, at in sentences))
        for token in doc:
            i, is_space = token.i, token.is_space
            self._note("stray", doc, i, i + 1, token.ent_iob == 1 and i not in inside)
            self._note("opening_space", doc, i, i + 1, is_space and i > 0 and token.is_sent_start)
            self._note("broken", doc, i, i + 1, _is_broken(token))
            self._note("decomposed", doc, i, i + 1, not unicodedata.is_normalized("NFC", token.text))
            self._note("unannotated_word", doc, i, i + 1, not (token.ent_iob or is_space or is_bare))

    def shown(self, kind: str) -> str:
        """Return the number of oddities of a kind, with examples if there are any."""
        examples = " / ".join(self.examples[kind])
        return f"{self.n[kind]:,}" + (f", such as: {examples}" if examples else "")

    def _note(self, kind: str, doc: Doc, start: int, end: int, is_odd: bool | None) -> None:
        if not is_odd:
            return
        self.n[kind] += 1
        if len(self.examples[kind]) < N_EXAMPLES:
            around = max(start - N_CONTEXT, 0), min(end + N_CONTEXT, len(doc))
            self.examples[kind].append(marked_up(doc, *around, entity_bounds(doc)))


def _is_punctuation(token: Token) -> bool:
    kinds = [unicodedata.category(letter) for letter in token.text]
    return all(kind[0] in "PS" for kind in kinds) and any(kind[0] == "P" for kind in kinds)


def _has_inner_end(doc: Doc) -> bool:
    """Return whether words follow the first sentence-final punctuation of a document."""
    first = next((token.i for token in doc if token.text in SENTENCE_ENDS), len(doc))
    return any(not (token.is_space or _is_punctuation(token)) for token in doc[first:])


def _is_broken(token: Token) -> bool:
    """Return whether a token has control or unassigned characters, or U+FFFD."""
    if token.is_alpha or token.is_space:
        return False
    kinds = {unicodedata.category(letter) for letter in token.text}
    return "\ufffd" in token.text or bool({"Cc", "Cn", "Cs"} & kinds)


def _findings(statistics: Statistics) -> Results:
    """Yield those findings of the statistics that are faults."""
    mentions = {t: counts.mentions for t, counts in statistics.parts["train"].types.items()}
    yield "info", rare_sentence(statistics.tail, mentions, statistics.labels)
    for finding in statistics.diagnosis:
        if finding.rule in LEVELS:
            yield LEVELS[finding.rule], f"{finding.finding} {finding.evidence} {finding.advice}"


def _names(statistics: Statistics) -> Results:
    """Yield pairs of types that may be the same: misspelt, or with other case or punctuation."""
    labels = statistics.labels + statistics.undeclared
    parts = statistics.parts.values()
    mentions = {label: sum(part.types[label].mentions for part in parts) for label in labels}
    plain = {label: "".join(filter(str.isalnum, label.casefold())) for label in labels[:MAX_TYPES]}
    for pair in combinations(plain, 2):
        one, other = sorted(plain[label] for label in pair)
        if SequenceMatcher(None, one, other).ratio() >= MIN_SIMILARITY:
            shown = ", ".join(f"{label} ({mentions[label]:,})" for label in pair)
            yield "warn", f"These may be the same type: {shown} have almost the same name."


def _tokens(types: CorpusTypes, paths: Mapping[str, Path]) -> Results:
    """Yield whether a pipeline splits the text into the same tokens."""
    try:
        nlp = types.blank()
    except ValueError as error:
        yield "info", f"The tokens were not compared with the language's: {error}"
        return
    for part, path in paths.items():
        docs = list(islice(stream_docs(path, nlp.vocab), MAX_DOCS))
        known = [doc for doc in docs if not doc.has_unknown_spaces]
        if len(known) < len(docs):
            yield (
                "info",
                f"{part}: {len(docs) - len(known)} of the first {len(docs)} documents have tokens "
                "without their text, so a pipeline in production may cut others.",
            )
        n_lost, odd = 0, list[str]()
        for doc in known:
            made = nlp.make_doc(doc.text)
            bounds = {(token.idx, len(token)) for token in made}
            odd += [token.text for token in doc if (token.idx, len(token)) not in bounds]
            n_lost += sum(made.char_span(ent.start_char, ent.end_char) is None for ent in doc.ents)
        if odd:
            yield (
                "warn",
                f"{part}: {len(odd):,} of {sum(map(len, known)):,} tokens differ from those of the "
                f"tokenizer of {nlp.lang!r}, such as: {' / '.join(odd[:N_EXAMPLES])}",
            )
        elif known:
            yield "good", f"{part}: the tokenizer of {nlp.lang!r} makes the same tokens."
        if n_lost:
            yield (
                "warn",
                f"{part}: {n_lost:,} of {sum(len(doc.ents) for doc in known):,} mentions end inside "
                "one of its tokens: in production they cannot be found.",
            )


def check_corpus(corpus: Path) -> Iterator[Check]:
    """Yield the results of all checks of a corpus, section by section.

    corpus (Path): A folder that `convert` wrote.
    YIELDS (Check): Level (info, good, warn, fail), section and text.
    """
    converted = ConvertedCorpus(corpus)
    types, paths, statistics = converted.types, converted.parts, converted.statistics
    oddities = {part: Oddities() for part in paths}
    for part, path in paths.items():
        for doc in stream_docs(path, bare_vocab()):
            oddities[part].add(doc)
    good = "No type or part is absent, and no text is annotated in two ways."
    yield from run_check(_findings(statistics), "Findings", good)
    yield from run_check(_names(statistics), "Types", "No two types have almost the same name.")
    for section, kinds in ODDITIES.items():
        results = (
            (level, f"{part}: {text}: {seen.shown(kind)}")
            for kind, (level, text) in kinds.items()
            for part, seen in oddities.items()
            if seen.n[kind]
        )
        yield from run_check(results, section, f"No fault in {section.lower()}.")
    yield from run_check(_tokens(types, paths), "Tokens")
