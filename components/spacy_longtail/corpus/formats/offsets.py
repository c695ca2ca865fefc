"""Unit of character offsets: characters, or the UTF-16 units that JavaScript and Java count."""

import re

from .context import Events
from .options import CHARACTERS, UTF16, Offsets
from .spans import CharSpan, Text, check_text, same_text

EDGE = re.compile(r"(?<!\w)|(?!\w)")  # where a word may begin or end


def in_characters(source: Text, offsets: Offsets | None, events: Events) -> Text:
    """Return a text with offsets in characters.

    The units differ only after characters above U+FFFF, such as emoji, which are two UTF-16 units
    each. The unit is the one in which more spans there fit: they cover what they quote, or whole
    words. If both fit alike, it is the unit that the source names.

    source (Text): A text with spans in the source's unit.
    offsets (Optional[str]): Unit of all offsets; null detects it.
    events (Events): Counts spans that were converted, or could count either.
    """
    text = check_text(source.text, source.place)
    at = character_offsets(text)

    def read_as_utf16(span: CharSpan) -> CharSpan:
        a, b = span.start, span.end
        is_within = type(a) is int and type(b) is int and 0 <= a <= b < len(at)
        return span._replace(start=at[a], end=at[b]) if is_within else span

    moved = [read_as_utf16(span) for span in source.spans]
    differing = [pair for pair in zip(source.spans, moved, strict=True) if pair[0] != pair[1]]
    if offsets == CHARACTERS or not (differing or offsets):
        return source
    lead = sum(_fits(text, other) - _fits(text, one) for one, other in differing)
    unit = offsets or (source.unit if not lead else UTF16 if lead > 0 else CHARACTERS)
    for _, span in differing if unit != CHARACTERS else ():
        events.add("utf16" if unit else "ambiguous", str(span.label), span.place, span.shown_in(text))
    if unit != UTF16:
        return source
    return source._replace(spans=moved, unclear=[read_as_utf16(span) for span in source.unclear])


def character_offsets(text: str) -> list[int]:
    """Return the character offset of each UTF-16 unit of a text, and of its end."""
    return [i for i, c in enumerate(text) for _ in range(1 + (c > "\uffff"))] + [len(text)]


def _fits(text: str, span: CharSpan) -> bool:
    """Return whether a span covers what it quotes or, without a quote, whole words."""
    inner = text[span.start : span.end]
    if span.quote is not None:
        return same_text(span.quote, inner)
    is_word = all(EDGE.match(text, at) for at in (span.start, span.end))
    return is_word and 0 < len(inner) == len(inner.strip()) == span.end - span.start
