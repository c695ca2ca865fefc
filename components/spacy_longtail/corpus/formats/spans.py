"""Character spans, and how texts with spans become documents."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import get_words_and_spaces

from ..labels import check_label
from .context import Context, Events, excerpt
from .text import Place, unreadable

UTF8_FIX = "Write UTF-8 text."
COUNT = "Count characters from 0, the end exclusive."
# Punctuation marks without a space between them. spaCy's tokenizer takes them off one by one, and
# reads the rest of the word again for each. The lookbehind lets the search read each mark once.
TANGLE = re.compile(r"(?<![^\w\s])[^\w\s]{2000}")


class CharSpan(NamedTuple):
    """Character span with a type, as the source gives it or checked."""

    place: Place
    quote: str | None  # the covered text, where the source gives it
    start: Any  # character offsets, end exclusive
    end: Any
    label: Any

    def shown_in(self, text: str) -> str:
        """Return type and span with the text around it, as an example of an event."""
        return f"{self.label} in {excerpt(text, self.start, self.end)}"


class Text(NamedTuple):
    """Text with its spans, of any format.

    place (Place): Place of the text.
    text (Any): The text as the source gives it, not yet checked.
    spans (List[CharSpan]): Spans that become entities.
    unclear (Sequence[CharSpan]): Spans that cannot become entities. Their tokens get no annotation.
    about (Mapping[str, Any]): Values beside the text, for `doc.user_data`.
    tokens (Any): Records with start and end, where the source has its own tokens.
    unit (str): Unit of the offsets, where the source names it.
    starts (Optional[Collection[int]]): Offsets at which a sentence starts; null if unknown.
    """

    place: Place
    text: Any
    spans: list[CharSpan]
    unclear: Sequence[CharSpan] = ()
    about: Mapping[str, Any] = {}
    tokens: Any = None
    unit: str = ""
    starts: Collection[int] | None = None


def text_doc(source: Text, context: Context) -> Doc | None:
    """Return the document of a text with its entities, or None if the text has no word."""
    place = source.place
    text = check_text(source.text, place)
    if not text.strip():
        context.events.add("empty", "texts", place)
        return None
    spans = [check_span(text, span, context.events) for span in source.spans]
    if source.tokens is None or context.tokens == "characters":
        doc = tokenize(context.nlp, text, place)
    else:
        doc = given_tokens(context.nlp, text, source.tokens, place)
    keep_values(doc, source.about, place)
    if source.starts is not None:
        for token in doc:
            token.is_sent_start = token.i == 0 or token.idx in source.starts
    return annotate(doc, spans, context, source.unclear)


def keep_values(doc: Doc, about: Mapping[str, Any], place: Place) -> None:
    """Store the texts and whole numbers of a record in `user_data`, where they can name groups."""
    for name, value in about.items():
        is_text = isinstance(value, str) and bool(check_text(value, place))
        if is_text or (type(value) is int and abs(value) < 2**63):
            doc.user_data[check_text(name, place)] = value


def is_tangled(text: str) -> bool:
    """Return whether a text has so many punctuation marks in a row that tokenizing takes hours."""
    return TANGLE.search(text) is not None


def check_text(text: object, place: Place) -> str:
    """Return a string, refusing other objects and half surrogate pairs, which spaCy cannot hold."""
    if not isinstance(text, str):
        raise unreadable(place, f"{str(text)[:60]!r} is not text", UTF8_FIX)
    try:
        text.encode("utf8")
    except UnicodeEncodeError as error:
        raise unreadable(
            place, f"character {error.start} of the text is half a surrogate pair", UTF8_FIX
        ) from error
    return text


def tokenize(nlp: Language, text: str, place: Place) -> Doc:
    """Return the document of a text, without annotation."""
    fault: object = "its tokens give another text"
    if is_tangled(text):
        fault = "it has 2,000 punctuation marks without a space between them"
    else:
        try:
            doc = nlp.tokenizer(text)
            if doc.text == text:
                return doc
        except Exception as error:  # each language's tokenizer raises its own kinds
            fault = error
    raise unreadable(
        place,
        f"the tokenizer of {nlp.lang!r} fails on the text: {fault}",
        "Correct the text, or use --tokens characters.",
    )


def given_tokens(nlp: Language, text: str, tokens: Any, place: Place) -> Doc:
    """Return a document with the tokens of a record; white space between them is kept.

    tokens (Any): A list of records with start and end, offsets in the text.
    """
    with suppress(TypeError, KeyError, AttributeError, ValueError):  # of another form
        bounds = [(token["start"], token["end"]) for token in tokens]
        words = [text[start:end] for start, end in bounds]
        said = [token.get("text", word) for token, word in zip(tokens, words, strict=True)]
        if said == words and all(end - start == len(text[start:end]) > 0 for start, end in bounds):
            return Doc(nlp.vocab, *get_words_and_spaces(words, text))
    raise unreadable(place, "its tokens do not cover the text in order", "Remove 'tokens'.")


def read_label(label: object, place: Place) -> str:
    """Return the type of a span, checked."""
    if not isinstance(label, str) or not label.strip():
        raise unreadable(place, f"a span has {label!r} as its type", "Name one.")
    return check_label(check_text(label.strip(), place), f" at {place}")


def check_span(text: str, span: CharSpan, events: Events) -> CharSpan:
    """Return a span trimmed of white space. Spans that cover no text or another one are refused."""
    place, quote, start, end, label = span
    label, problem = read_label(label, place), ""
    is_within = type(start) is int and type(end) is int and 0 <= start < end <= len(text)
    inner = text[start:end] if is_within else ""
    if not inner.strip():
        problem = f"covers nothing of a text of {len(text)} characters"
    elif quote is not None and not same_text(quote, inner):
        problem = f"is said to be {quote[:60]!r} but covers {inner[:60]!r}"
    if problem:
        raise unreadable(place, f"span {start!r} to {end!r} {label!r} {problem}", COUNT)
    if inner != inner.strip():
        events.add("trimmed", label, place, f"{label} in {excerpt(text, start, end)}")
    start, end = end - len(inner.lstrip()), start + len(inner.rstrip())
    return CharSpan(place, quote, start, end, label)


def same_text(quote: str, covered: str) -> bool:
    """Return whether a quote equals the covered text, apart from white space, which tools fold."""
    said = (quote, quote.replace("\\n", " "))  # some tools write a line end as two characters
    return "".join(covered.split()) in ("".join(text.split()) for text in said)


def annotate(
    doc: Doc, mentions: Iterable[CharSpan], context: Context, unclear: Iterable[CharSpan] = ()
) -> Doc:
    """Set the entities of a document. Of overlapping ones, the longest is kept.

    doc (Doc): Tokens; the document is changed in place and returned.
    mentions (Iterable[CharSpan]): Checked spans of its text.
    context (Context): Its events count misaligned, repeated and overlapping spans.
    unclear (Iterable[CharSpan]): Spans that cannot become entities. Their tokens get no annotation,
        nor do those of misaligned and dropped spans, unless a kept entity covers them.
    """
    events, policy = context.events, context.misaligned
    missing = {token.i for mention in unclear for token in _touched(doc, mention)}
    spans: list[tuple[Span, CharSpan]] = []
    for mention in mentions:
        events.n_spans += 1
        span = _touched(doc, mention)
        if (span.start_char, span.end_char) != (mention.start, mention.end):
            detail = mention.shown_in(doc.text)
            if policy == "error":
                raise unreadable(
                    mention.place,
                    f"{detail} does not align with tokens",
                    "Begin and end it with a word, or choose --misaligned missing, expand or contract.",
                )
            events.add("misaligned", mention.label, mention.place, detail)
            inner = [t.i for t in _touched(doc, mention, "contract") if not t.is_space]
            if policy == "contract" and inner:
                span = Span(doc, inner[0], inner[-1] + 1, label=mention.label)
            elif policy != "expand":
                missing.update(token.i for token in span)
                continue
        spans.append((span, mention))
    ents: list[Span] = []
    taken: dict[int, Span] = {}  # by token
    for span, mention in sorted(spans, key=lambda pair: (-len(pair[0]), pair[0].start)):
        rival = next((taken[token.i] for token in span if token.i in taken), None)
        if rival is None:
            taken.update((token.i, span) for token in span)
            ents.append(span)
            continue
        kind = "overlapping"
        if (span.start, span.end) == (rival.start, rival.end):
            kind = "repeated" if span.label == rival.label else "doubled"
        events.add(kind, mention.label, mention.place, mention.shown_in(doc.text))
        missing.update(token.i for token in span)
    unannotated = [doc[i : i + 1] for i in sorted(missing - taken.keys())]
    doc.set_ents(ents, missing=unannotated, default="outside")
    return doc


def _touched(doc: Doc, mention: CharSpan, mode: str = "expand") -> Span:
    """Return the tokens that a span touches, or with `mode` "contract" those within it."""
    span = doc.char_span(mention.start, mention.end, mention.label, alignment_mode=mode)
    return span if span is not None else doc[:0]
