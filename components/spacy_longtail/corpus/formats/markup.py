"""Inline markup, `[surface|TYPE]`, and articles in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .context import Context
from .options import FileOptions, Misaligned, SpanOptions
from .spans import CharSpan, Text
from .text import Place, lines, unreadable

MENTION = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
HEADER = ("title", "kind")


def parse_line(line: str, place: Place) -> Text:
    """Return a line as text, with its marked mentions as spans."""
    text, spans, last, problem = "", [], 0, ""
    for match in MENTION.finditer(line):
        surface, label = match.groups()
        if not surface or surface != surface.strip():
            problem = f"mention {surface!r} is empty or padded"
        text += line[last : match.start()]
        spans.append(CharSpan(place, surface, len(text), len(text) + len(surface), label))
        text += surface
        last = match.end()
    if set(MENTION.sub("", line)) & set("[]|"):
        problem = "nested mentions, unbalanced brackets or a stray |"
    if problem:
        raise unreadable(place, problem, "Write every mention as [surface|TYPE].")
    return Text(place, text + line[last:], spans)


@dataclass(frozen=True, kw_only=True)
class ArticleReader(FileOptions, SpanOptions):
    """Reader of articles: two header lines, then a sentence with marked mentions per line."""

    misaligned: Misaligned = "error"

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield an article with its sentence boundaries. Its types must be declared."""
        rows = lines(path, self.encoding)
        header, text, spans, starts = dict[str, str](), "", list[CharSpan](), set[int]()
        for i, name in enumerate(HEADER, 1):
            place, line = next(rows, (Place(path, i), ""))
            if not line.startswith(f"{name}: "):
                problem = f"expected a header line that begins with '{name}: '"
                raise unreadable(place, problem, "docs/corpora.md shows an article.")
            header[name] = line.partition(": ")[2].strip()
        for place, line in rows:
            if not line.strip():
                continue
            sentence = parse_line(line.strip(), place)
            text += " " if text else ""
            starts.add(len(text))
            for span in sentence.spans:
                if span.label not in (context.labels or (span.label,)):
                    problem = f"unknown type {span.label!r} instead of {', '.join(context.labels)}"
                    raise unreadable(span.place, problem, "Declare it in corpus.json, or correct it.")
                at = len(text) + span.start, len(text) + span.end
                spans.append(span._replace(start=at[0], end=at[1]))
            text += sentence.text
        yield Text(Place(path, 1), text, spans, (), header, starts=starts)


def is_article(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file starts with the header of an article."""
    return head.startswith(f"{HEADER[0]}: ")
