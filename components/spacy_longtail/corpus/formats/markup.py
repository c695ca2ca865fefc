"""Inline markup, `[surface|TYPE]`, and articles in it."""

import re
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc

from .context import Context
from .spans import CharSpan, Text, text_doc
from .text import Place, lines, unreadable

MENTION = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
HEADER = ("title", "kind")


def parse_line(line: str, place: Place) -> Text:
    """A sentence without its marks."""
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


def read_articles(path: Path, context: Context) -> Iterator[Doc]:
    """An article as one document: header lines, then one sentence per line, with its boundaries.

    context (Context): Its labels are the types that there may be.
    """
    every = list(lines(path, context.settings.encoding))
    header, text, spans, starts = dict[str, str](), "", list[CharSpan](), set[int]()
    for i, name in enumerate(HEADER):
        line = every[i] if i < len(every) else ""
        if not line.startswith(f"{name}: "):
            raise unreadable(Place(path, i + 1), f"no '{name}: ' header line", "See docs/corpora.md.")
        header[name] = line.partition(": ")[2].strip()
    for i, line in enumerate(every[len(HEADER) :], len(HEADER) + 1):
        if line.strip():
            sentence = parse_line(line.strip(), Place(path, i))
            text += " " if text else ""
            starts.add(len(text))
            for span in sentence.spans:
                if span.label not in (context.labels or (span.label,)):
                    problem = f"unknown type {span.label!r} instead of {', '.join(context.labels)}"
                    raise unreadable(span.place, problem, "Declare it in corpus.json, or correct it.")
                at = len(text) + span.start, len(text) + span.end
                spans.append(span._replace(start=at[0], end=at[1]))
            text += sentence.text
    if doc := text_doc(Text(Place(path, 1), text, spans, (), header), context):
        for token in doc:
            token.is_sent_start = token.idx in starts
        yield doc
