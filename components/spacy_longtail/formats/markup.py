"""Inline markup, `[surface|TYPE]`: articles of one sentence a line to spaCy documents."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors

MENTION = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
HEADER = ("title", "kind")


class Sentence(NamedTuple):
    line: int  # 1-based, in its file
    text: str  # without markup
    spans: list[tuple[int, int, str]]  # character offsets in text, and type
    new_paragraph: bool


class Article(NamedTuple):
    path: Path
    title: str
    kind: str
    sentences: list[Sentence]


def _fail(path: Path, line: int, problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L401.format(path=path, line=line, problem=problem, fix=fix))


def parse_line(path: Path, line: int, marked: str, labels: Collection[str]) -> Sentence:
    """One marked-up sentence. RAISES (ValueError): L401 with file and line."""
    text, spans, last = "", [], 0
    for match in MENTION.finditer(marked):
        surface, label = match.groups()
        if label not in labels:
            raise _fail(path, line, f"unknown type {label!r}", f"Use one of {', '.join(labels)}.")
        if not surface.strip() or surface != surface.strip():
            raise _fail(path, line, f"mention {surface!r} is empty or padded", "Trim the mention.")
        text += marked[last : match.start()]
        spans.append((len(text), len(text) + len(surface), label))
        text += surface
        last = match.end()
    text += marked[last:]
    rest = MENTION.sub("", marked)
    if "[" in rest or "]" in rest or "|" in rest:
        nested = re.search(r"\[[^\]]*\[", marked)
        problem = "overlapping or nested mentions" if nested else "unbalanced brackets or a stray |"
        raise _fail(path, line, problem, "Write every mention as [surface|TYPE].")
    return Sentence(line, text, spans, False)


def read_article(path: Path, labels: Collection[str]) -> Article:
    """Read one article: header lines, a blank line, a sentence a line, blank lines between paragraphs.

    path (Path): A UTF-8 text file.
    labels (Collection[str]): The types that may occur.
    RAISES (ValueError): L401, L403.
    """
    lines = path.read_text(encoding="utf8").splitlines()
    header = {}
    for i, name in enumerate(HEADER):
        if i >= len(lines) or not lines[i].startswith(f"{name}: "):
            raise _fail(path, i + 1, f"no '{name}: ' header line", "See GUIDELINES.md for the format.")
        header[name] = lines[i].removeprefix(f"{name}: ").strip()
    sentences: list[Sentence] = []
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


def read_articles(folder: Path, labels: Collection[str]) -> Iterator[Article]:
    """The articles of a folder, by file name. RAISES (ValueError): L402, L403."""
    if not folder.is_dir():
        raise ValueError(Errors.L402.format(path=folder, fix="Name a folder of .txt articles."))
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise ValueError(Errors.L403.format(path=folder, fix="It has no .txt article."))
    for path in paths:
        yield read_article(path, labels)


def article_doc(nlp: Language, article: Article) -> Doc:
    """An article as one document with sentence boundaries and entities.

    RAISES (ValueError): L401 where a mention does not begin and end with a token.
    """
    parts = []
    for i, sentence in enumerate(article.sentences):
        part = nlp.make_doc(sentence.text + (" " if i + 1 < len(article.sentences) else ""))
        ents = []
        for start, end, label in sentence.spans:
            span = part.char_span(start, end, label=label)
            if span is None:
                problem = f"mention {sentence.text[start:end]!r} does not align with tokens"
                fix = "Begin and end it where a word begins and ends."
                raise _fail(article.path, sentence.line, problem, fix)
            ents.append(span)
        part.set_ents(ents)
        for token in part:
            token.is_sent_start = token.i == 0
        parts.append(part)
    doc = Doc.from_docs(parts, ensure_whitespace=True)
    assert doc is not None
    doc.user_data["title"] = article.title
    doc.user_data["kind"] = article.kind
    return doc
