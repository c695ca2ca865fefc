"""Character spans to entities on tokens. Other spans are counted, and not learnt from."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from spacy.tokens import Doc, Span

from ...errors import Errors
from ...types import INCORRECT_SPANS
from ..examples import trim_whitespace
from ..labels import check_label
from .context import Events, Place, excerpt
from .offsets import same_text
from .tokens import check_text

COUNT = "Count characters from 0, the end exclusive."
PUT_TEXT = "This text is an address or a path. Put the text that stands there in its place."
ADDRESS = re.compile(r"(?:\w+:/)?/\S+|[A-Za-z]:\\\S+")  # as where a tool was given files to show
COUNT_TOKENS = "Count tokens from 0, the last one inclusive."


class CharSpan(NamedTuple):
    start: int  # character offsets in the text, end exclusive
    end: int
    label: str
    place: Place


class _Candidate(NamedTuple):
    first: int  # tokens, last exclusive
    last: int
    mention: CharSpan
    clear: bool  # whether it begins and ends with a token, or was made to


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

    text (str): What the offsets count in.
    start, end (object): Character offsets, end exclusive.
    events (Events): Counts what was trimmed.
    quote (Optional[str]): The text of the span as the file has it; tools fold the white space in it.
    """
    span = f"{start!r} to {end!r} {label!r}"
    label = read_label(label, span, place)
    if not (type(start) is int and type(end) is int):
        raise bad_span(place, span, "has no whole numbers as offsets", COUNT)
    problem = ""
    if start < 0 or end > len(text):
        problem = f"lies outside the text of {len(text)} characters"
    elif end <= start or text[start:end].isspace():
        problem = "covers no text"
    elif quote is not None:
        problem = problem_of_quote(quote, text[start:end])
    if problem:
        raise bad_span(place, span, problem, PUT_TEXT if ADDRESS.fullmatch(text.strip()) else COUNT)
    inner = text[start:end]
    first, last = end - len(inner.lstrip()), start + len(inner.rstrip())
    if (first, last) != (start, end):
        events.add("trimmed", label, place, f"{label} in {excerpt(text, start, end)}")
    return CharSpan(first, last, label, place)


def read_label(label: object, span: str, place: Place) -> str:
    """The type of a span, which errors name as `span`."""
    if not isinstance(label, str) or not label.strip():
        raise bad_span(place, span, "has no type", "Name one.")
    return check_label(check_text(label.strip(), place), f" at {place}")


def problem_of_quote(quote: str, covered: str) -> str:
    """What is wrong where a file says that a span covers another text than it does; "" for nothing."""
    if same_text(quote, covered):
        return ""
    return f"is said to be {quote[:60]!r} but covers {covered[:60]!r}"


def bad_span(place: Place, span: str, problem: str, fix: str) -> ValueError:
    """L424, to be raised."""
    return ValueError(Errors.L424.format(place=place, span=span, problem=problem, fix=fix))


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
    starts = [token.idx for token in doc]
    ends = [token.idx + len(token) for token in doc]
    candidates = [_candidate(doc, starts, ends, m, misaligned, events) for m in mentions]
    events.n_spans += len(candidates)
    missing = {i for m in unclear for i in _covered(starts, ends, m)}
    kept: list[_Candidate] = []
    taken: dict[int, _Candidate] = {}  # by token
    for found in sorted(candidates, key=lambda c: (c.first - c.last, c.first)):
        tokens = range(found.first, found.last)
        rival = next((taken[i] for i in tokens if i in taken), None)
        if rival is None:
            taken.update(dict.fromkeys(tokens, found))
            kept.append(found)
            if found.clear:
                continue
        elif found.clear:
            _count(events, _rivalry(found, rival), found.mention, doc.text)
        missing.update(tokens)
    ents = [Span(doc, c.first, c.last, label=c.mention.label) for c in kept if c.clear]
    missing.difference_update(i for ent in ents for i in range(ent.start, ent.end))
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in sorted(missing)], default=others)
    return doc


def relabelled(doc: Doc, name_of: Callable[[str], str]) -> Doc:
    """A document whose entities have other types. name_of (Callable[[str], str]): Of each type."""
    ents = [Span(doc, ent.start, ent.end, label=name_of(ent.label_)) for ent in doc.ents]
    doc.set_ents(ents, default="unmodified")
    return doc


def _rivalry(found: _Candidate, rival: _Candidate) -> str:
    """Why a span is left out for another."""
    if (found.first, found.last) != (rival.first, rival.last):
        return "overlapping"
    return "repeated" if found.mention.label == rival.mention.label else "doubled"


def mark_incorrect(doc: Doc, mentions: Iterable[CharSpan], events: Events) -> Doc:
    """Keep spans that were rejected in doc.spans, and give no token annotation.

    doc (Doc): Tokens; it is changed and returned.
    mentions (Iterable[CharSpan]): Checked spans of its text; those that do not align are left out.
    events (Events): Counts them, kept or not.
    """
    found = []
    starts, ends = [token.idx for token in doc], [token.idx + len(token) for token in doc]
    for mention in mentions:
        own = _candidate(doc, starts, ends, mention, None, events)
        events.n_spans += 1
        if own.clear:
            found.append(Span(doc, own.first, own.last, label=mention.label))
            _count(events, "incorrect", mention, doc.text)
    doc.spans[INCORRECT_SPANS] = found
    doc.set_ents([], default="missing")
    return doc


def _covered(starts: Sequence[int], ends: Sequence[int], mention: CharSpan) -> range:
    """The tokens that a span touches."""
    return range(bisect_right(ends, mention.start), bisect_left(starts, mention.end))


def _candidate(
    doc: Doc,
    starts: list[int],
    ends: list[int],
    mention: CharSpan,
    misaligned: str | None,
    events: Events,
) -> _Candidate:
    tokens = _covered(starts, ends, mention)
    first, last = tokens.start, tokens.stop
    if starts[first] == mention.start and ends[last - 1] == mention.end:
        return _Candidate(first, last, mention, True)
    detail = _detail(mention, doc.text)
    if misaligned == "error":
        raise ValueError(Errors.L425.format(place=mention.place, span=detail))
    _count(events, "misaligned", mention, doc.text)
    if misaligned == "contract":
        inside = bisect_left(starts, mention.start), bisect_right(ends, mention.end)
        start, end = map(int, trim_whitespace(*inside, doc.to_array("IS_SPACE")))
        if start < end:
            return _Candidate(start, end, mention, True)
    return _Candidate(first, last, mention, misaligned == "expand")


def _detail(mention: CharSpan, text: str) -> str:
    return f"{mention.label} in {excerpt(text, mention.start, mention.end)}"


def _count(events: Events, kind: str, mention: CharSpan, text: str) -> None:
    events.add(kind, mention.label, mention.place, _detail(mention, text))
