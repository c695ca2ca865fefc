"""Inline markup, `[surface|TYPE]`: articles of one sentence per line to spaCy documents."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Place
from .spans import annotate, check_span
from .text import bad_line, head_of, read_text
from .tokens import tokenize

MENTION = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
HEADER = ("title", "kind")


class ArticleSentence(NamedTuple):
    line: int  # 1-based, in its file
    text: str  # without markup
    spans: list[tuple[int, int, str]]  # character offsets in text, and type
    new_paragraph: bool


class Article(NamedTuple):
    path: Path
    title: str
    kind: str
    sentences: list[ArticleSentence]


def is_article(path: Path, encoding: str = "utf8") -> bool:
    """Whether a text file begins as an article does."""
    return head_of(path, encoding, 40).startswith("title: ")


def parse_line(path: Path, line: int, marked: str, labels: Collection[str] | None) -> ArticleSentence:
    """One marked-up sentence.

    labels (Optional[Collection[str]]): The types that there may be; null is any.
    """
    text, spans, last = "", [], 0
    for match in MENTION.finditer(marked):
        surface, label = match.groups()
        if labels is not None and label not in labels:
            raise bad_line(path, line, f"unknown type {label!r}", f"Use one of {', '.join(labels)}.")
        if not surface.strip() or surface != surface.strip():
            raise bad_line(path, line, f"mention {surface!r} is empty or padded", "Trim the mention.")
        text += marked[last : match.start()]
        spans.append((len(text), len(text) + len(surface), label))
        text += surface
        last = match.end()
    text += marked[last:]
    rest = MENTION.sub("", marked)
    if "[" in rest or "]" in rest or "|" in rest:
        nested = re.search(r"\[[^\]]*\[", marked)
        problem = "overlapping or nested mentions" if nested else "unbalanced brackets or a stray |"
        raise bad_line(path, line, problem, "Write every mention as [surface|TYPE].")
    return ArticleSentence(line, text, spans, False)


def read_article(path: Path, labels: Collection[str] | None, encoding: str = "utf8") -> Article:
    """Read one article: header lines, a blank line, one sentence per line, blank between paragraphs.

    labels (Optional[Collection[str]]): As for `parse_line`.
    """
    lines = read_text(path, encoding).split("\n")
    header = {}
    for i, name in enumerate(HEADER):
        if i >= len(lines) or not lines[i].startswith(f"{name}: "):
            raise bad_line(path, i + 1, f"no '{name}: ' header line", "See docs/corpora.md.")
        header[name] = lines[i].removeprefix(f"{name}: ").strip()
    sentences: list[ArticleSentence] = []
    fresh = True
    for i, line in enumerate(lines[len(HEADER) :], len(HEADER) + 1):
        if not line.strip():
            fresh = True
            continue
        sentence = parse_line(path, i, line.strip(), labels)
        sentences.append(sentence._replace(new_paragraph=fresh))
        fresh = False
    if not sentences:
        raise ValueError(Errors.L403.format(path=path, fix="Add sentences below the header."))
    return Article(path, header["title"], header["kind"], sentences)


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """An article as one document."""
    labels = None if context.settings.unlabelled else context.labels or None
    yield article_doc(read_article(path, labels, context.settings.encoding), context)


def article_doc(article: Article, context: Context) -> Doc:
    """An article as one document with sentence boundaries and entities."""
    parts = []
    for i, sentence in enumerate(article.sentences):
        place = Place(article.path, sentence.line)
        last = i + 1 == len(article.sentences)
        part = tokenize(context.nlp, sentence.text if last else f"{sentence.text} ", place)
        spans = [] if context.settings.unlabelled else sentence.spans
        mentions = [check_span(sentence.text, *span, place, context.events) for span in spans]
        annotate(part, mentions, context.settings.misaligned, context.events)
        for token in part:
            token.is_sent_start = token.i == 0
        parts.append(part)
    doc = Doc.from_docs(parts, ensure_whitespace=True, exclude=["user_data"])  # type: ignore[call-arg]
    assert doc is not None
    doc.user_data["title"] = article.title
    doc.user_data["kind"] = article.kind
    return doc
