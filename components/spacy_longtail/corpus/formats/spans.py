"""Texts to documents, and character spans to entities. Other spans are counted, and not learnt from."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import get_words_and_spaces

from ...types import INCORRECT_SPANS
from ..labels import check_label
from .context import Events, excerpt
from .offsets import same_text
from .text import Place, unreadable

COUNT = "Count characters from 0, the end exclusive."
PUT_TEXT = "This text is an address or a path. Put the text that stands there in its place."
ADDRESS = re.compile(r"(?:\w+:/)?/\S+|[A-Za-z]:\\\S+")  # as where a tool was given files to show
# spaCy's tokenizer looks at all of a word again for each punctuation mark that it takes off
TANGLE = re.compile(r"(?<![^\w\s])[^\w\s]{2000}")  # from where a row begins: each character once


def is_tangled(text: str) -> bool:
    """Whether a text has so many punctuation marks in a row that its tokenizer takes hours."""
    return TANGLE.search(text) is not None


def check_text(text: object, place: Place) -> str:
    """A string that spaCy can hold: no half of a surrogate pair."""
    try:
        if isinstance(text, str):
            text.encode("utf8")
            return text
        problem = f"{str(text)[:60]!r} is not text"
    except UnicodeEncodeError as error:
        problem = f"character {error.start} of the text is half a surrogate pair"
    raise unreadable(place, problem, "Write UTF-8 text.")


def tokenize(nlp: Language, text: str, place: Place) -> Doc:
    """A text as a document."""
    problem: object = "its tokens give another text"
    if is_tangled(text):
        problem = "it has 2,000 punctuation marks without a space between them"
        raise unreadable(place, problem, "Leave them out.")
    try:
        doc = nlp.tokenizer(text)
        if doc.text == text:
            return doc
    except Exception as error:  # each language's tokenizer raises its own kinds
        problem = error
    problem = f"the tokenizer of {nlp.lang!r} fails on the text: {problem}"
    raise unreadable(place, problem, "Correct the text, or use --tokens characters.")


def given_tokens(nlp: Language, text: str, tokens: Any, place: Place) -> Doc:
    """A document of the tokens that a record brings, white space between them kept.

    tokens (Any): A list of records with start and end, offsets in the text.
    """
    try:
        bounds = [(token["start"], token["end"]) for token in tokens]
        words = [text[start:end] for start, end in bounds]
        said = [token.get("text", word) for token, word in zip(tokens, words, strict=True)]
        if said == words and all(end - start == len(text[start:end]) > 0 for start, end in bounds):
            return Doc(nlp.vocab, *get_words_and_spaces(words, text))
    except (TypeError, KeyError, AttributeError, ValueError):
        pass
    raise unreadable(place, "its tokens do not cover the text in order", "Remove 'tokens'.")


class CharSpan(NamedTuple):
    start: int  # character offsets in the text, end exclusive
    end: int
    label: str
    place: Place

    def detail(self, text: str) -> str:
        """The span in its text, as events and errors have it."""
        return f"{self.label} in {excerpt(text, self.start, self.end)}"


def read_label(label: object, place: Place) -> str:
    """The type of a span."""
    if not isinstance(label, str) or not label.strip():
        raise unreadable(place, f"a span has {label!r} as its type", "Name one.")
    return check_label(check_text(label.strip(), place), f" at {place}")


def check_span(
    text: str,
    start: object,
    end: object,
    label: object,
    place: Place,
    events: Events,
    quote: str | None = None,
) -> CharSpan:
    """A span of a source file, checked and trimmed of white space.

    text (str): What the offsets count in. start, end (object): Character offsets, end exclusive.
    events (Events): Counts what was trimmed.
    quote (Optional[str]): The text of the span as the file has it; tools fold the white space in it.
    """
    label, problem = read_label(label, place), ""
    if not (type(start) is int and type(end) is int):
        raise unreadable(
            place, f"span {start!r} to {end!r} {label!r} has no whole numbers as offsets", COUNT
        )
    inner = text[max(start, 0) : max(end, 0)]
    if start < 0 or end > len(text):
        problem = f"lies outside the text of {len(text)} characters"
    elif not inner.strip():
        problem = "covers no text"
    elif quote is not None:
        problem = problem_of_quote(quote, inner)
    if problem:
        fix = PUT_TEXT if ADDRESS.fullmatch(text.strip()) else COUNT
        raise unreadable(place, f"span {start} to {end} {label!r} {problem}", fix)
    span = CharSpan(end - len(inner.lstrip()), start + len(inner.rstrip()), label, place)
    if inner != inner.strip():
        events.add("trimmed", label, place, f"{label} in {excerpt(text, start, end)}")
    return span


def problem_of_quote(quote: str, covered: str) -> str:
    """What is wrong where a file says that a span covers another text than it does; "" for nothing."""
    if same_text(quote, covered):
        return ""
    return f"is said to be {quote[:60]!r} but covers {covered[:60]!r}"


def annotate(
    doc: Doc,
    mentions: Iterable[CharSpan],
    misaligned: str | None,
    events: Events,
    unclear: Iterable[CharSpan] = (),
    others: Literal["outside", "missing"] = "outside",
) -> Doc:
    """Set the entities of a document. Of those that overlap, the longest is kept.

    doc (Doc): Tokens; it is changed and returned.
    mentions (Iterable[CharSpan]): Checked spans of its text.
    misaligned (Optional[str]): One of MISALIGNED; null is "missing".
    events (Events): Counts what is misaligned, repeated or overlapping.
    unclear (Iterable[CharSpan]): Spans that no entity can stand for. Their tokens get no annotation,
        as do those of misaligned and of dropped entities, where no kept entity covers them.
    others (str): What all other tokens are: "outside" of entities, or "missing" annotation.
    """
    spans = [(_on_tokens(doc, mention, misaligned, events), mention) for mention in mentions]
    events.n_spans += len(spans)
    missing = {token.i for mention in unclear for token in _touched(doc, mention)}
    ents: list[Span] = []
    taken: dict[int, Span] = {}  # by token
    for (span, is_clear), mention in sorted(spans, key=lambda s: (-len(s[0][0]), s[0][0].start)):
        rival = next((taken[token.i] for token in span if token.i in taken), None)
        if rival is None:
            taken.update((token.i, span) for token in span)
        if rival is None and is_clear:
            ents.append(span)
            continue
        missing.update(token.i for token in span)
        if rival is not None and is_clear:
            kind = "overlapping"
            if (span.start, span.end) == (rival.start, rival.end):
                kind = "repeated" if span.label == rival.label else "doubled"
            events.add(kind, mention.label, mention.place, mention.detail(doc.text))
    missing.difference_update(token.i for ent in ents for token in ent)
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in sorted(missing)], default=others)
    return doc


def mark_incorrect(doc: Doc, mentions: Iterable[CharSpan], events: Events) -> Doc:
    """Keep spans that were rejected in doc.spans, and give no token annotation.

    doc (Doc): Tokens; it is changed and returned.
    mentions (Iterable[CharSpan]): Checked spans of its text; those that do not align are left out.
    events (Events): Counts them, kept or not.
    """
    kept = []
    for mention in mentions:
        span, is_clear = _on_tokens(doc, mention, None, events)
        events.n_spans += 1
        if is_clear:
            kept.append(span)
            events.add("incorrect", mention.label, mention.place, mention.detail(doc.text))
    doc.spans[INCORRECT_SPANS] = kept
    doc.set_ents([], default="missing")
    return doc


def relabelled(doc: Doc, name_of: Callable[[str], str]) -> Doc:
    """A document whose entities have other types. name_of (Callable[[str], str]): Of each type."""
    ents = [Span(doc, ent.start, ent.end, label=name_of(ent.label_)) for ent in doc.ents]
    doc.set_ents(ents, default="unmodified")
    return doc


def _touched(doc: Doc, mention: CharSpan, mode: str = "expand") -> Span:
    """The tokens that a span touches."""
    span = doc.char_span(mention.start, mention.end, mention.label, alignment_mode=mode)
    return span if span is not None else doc[:0]


def _on_tokens(doc: Doc, mention: CharSpan, misaligned: str | None, events: Events) -> tuple[Span, bool]:
    """The tokens of a span, and whether they can be an entity."""
    span = _touched(doc, mention)
    if (span.start_char, span.end_char) == (mention.start, mention.end):
        return span, True
    if misaligned == "error":
        problem = f"{mention.detail(doc.text)} does not align with tokens"
        fix = "Begin and end it with a word, or choose --misaligned missing, expand or contract."
        raise unreadable(mention.place, problem, fix)
    events.add("misaligned", mention.label, mention.place, mention.detail(doc.text))
    if misaligned == "contract":
        inner = [t.i for t in _touched(doc, mention, "contract") if not t.is_space]
        if inner:
            return Span(doc, inner[0], inner[-1] + 1, label=mention.label), True
    return span, misaligned == "expand"
