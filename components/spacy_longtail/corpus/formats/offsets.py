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
    spans, moved = source.spans, list(source.spans)
    for i, (_, _, a, b, _) in enumerate(spans):
        if type(a) is int and type(b) is int and 0 <= a <= b < len(at):
            moved[i] = spans[i]._replace(start=at[a], end=at[b])
    differing = [(one, other) for one, other in zip(spans, moved, strict=True) if one != other]
    if not differing or offsets == CHARACTERS:
        return source
    lead = sum(_fits(text, other) - _fits(text, one) for one, other in differing)
    unit = offsets or (source.unit if not lead else UTF16 if lead > 0 else CHARACTERS)
    for _, span in differing if unit != CHARACTERS else ():
        events.add("utf16" if unit else "ambiguous", str(span.label), span.place, span.shown_in(text))
    return source._replace(spans=moved) if unit == UTF16 else source


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
