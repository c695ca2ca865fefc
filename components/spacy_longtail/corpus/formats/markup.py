"""Inline markup, `[surface|TYPE]`: articles, and sentences whose mentions have types of their own."""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context
from .spans import CharSpan, annotate, check_span, check_text, read_label, tokenize
from .tagged import TaggedToken, Tagger
from .text import Place, head_of, lines, read_text, unreadable, unzipped

MENTION = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
HEADER = ("title", "kind")
SENTENCES = "sents.json"  # of open types
ANNOTATION = re.compile(r"ann\d*\.txt(\.gz)?")  # beside it
DOMAIN = "domain: "
LINE_FIX = "Write `ID<TAB>mention => fine type; coarse type | ...`, or `ID<TAB>-`."
ROWS_FIX = 'Write a list of ["source", ["token", ...]].'


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
    return head_of(path, encoding).startswith("title: ")


def is_open(path: Path, encoding: str = "utf8") -> bool:
    """Whether a text file begins with its domain, or soon has a mark with two types."""
    head = head_of(path, encoding)
    return head.startswith(DOMAIN) or any("; " in label for _, label in MENTION.findall(head))


def parse_line(
    path: Path, line: int, marked: str, labels: Collection[str] | None, fresh: bool = False
) -> ArticleSentence:
    """One marked-up sentence.

    labels (Optional[Collection[str]]): The types that there may be; null is any.
    """
    text, spans, last, problem = "", [], 0, ""
    for match in MENTION.finditer(marked):
        surface, label = match.groups()
        if labels is not None and label not in labels:
            problem = f"unknown type {label!r} instead of {', '.join(labels)}"
        elif not surface or surface != surface.strip():
            problem = f"mention {surface!r} is empty or padded"
        text += marked[last : match.start()]
        spans.append((len(text), len(text) + len(surface), label))
        text += surface
        last = match.end()
    if not problem and set(MENTION.sub("", marked)) & set("[]|"):
        problem = "nested mentions, unbalanced brackets or a stray |"
    if problem:
        raise unreadable(Place(path, line), problem, "Write every mention as [surface|TYPE].")
    return ArticleSentence(line, text + marked[last:], spans, fresh)


def read_article(path: Path, labels: Collection[str] | None, encoding: str = "utf8") -> Article:
    """Read one article: header lines, then one sentence per line, blank between paragraphs.

    labels (Optional[Collection[str]]): As for `parse_line`.
    """
    lines = read_text(path, encoding).split("\n")
    header = []
    for i, (name, line) in enumerate(zip(HEADER, [*lines, ""], strict=False), 1):
        if not line.startswith(f"{name}: "):
            raise unreadable(Place(path, i), f"no '{name}: ' header line", "See docs/corpora.md.")
        header.append(line.removeprefix(f"{name}: ").strip())
    sentences = [
        parse_line(path, i, line.strip(), labels, not lines[i - 2].strip() or i == len(HEADER) + 1)
        for i, line in enumerate(lines, 1)
        if i > len(HEADER) and line.strip()
    ]
    if not sentences:
        raise ValueError(Errors.L403.format(path=path, fix="Add sentences below the header."))
    title, kind = header
    return Article(path, title, kind, sentences)


def read_articles(path: Path, context: Context) -> Iterator[Doc]:
    """An article as one document."""
    labels = None if context.settings.unlabelled else context.labels or None
    yield article_doc(read_article(path, labels, context.settings.encoding), context)


def article_doc(article: Article, context: Context) -> Doc:
    """An article as one document with sentence boundaries and entities."""
    parts = [
        _marked_doc(article.path, sentence, " " * (sentence is not article.sentences[-1]), context)
        for sentence in article.sentences
    ]
    for part in parts:
        for token in part:
            token.is_sent_start = token.i == 0
    doc = Doc.from_docs(parts, ensure_whitespace=True, exclude=["user_data"])  # type: ignore[call-arg]
    assert doc is not None
    doc.user_data["title"] = article.title
    doc.user_data["kind"] = article.kind
    return doc


def _marked_doc(path: Path, sentence: ArticleSentence, end: str, context: Context) -> Doc:
    """A marked-up sentence as a document. end (str): What follows its text."""
    place, events = Place(path, sentence.line), context.events
    doc = tokenize(context.nlp, sentence.text + end, place)
    marked = [] if context.settings.unlabelled else sentence.spans
    spans = [check_span(sentence.text, *span, place, events) for span in marked]
    return annotate(doc, spans, context.settings.misaligned, events)


def fine_and_coarse(label: str) -> tuple[str, str]:
    """The two levels of an open type. A type that names one level has it as both.

    label (str): As "football club; organization".
    """
    fine, _, coarse = (" ".join(part.split()).casefold() for part in label.partition(";"))
    return fine, coarse or fine


def plain_type(label: str) -> str:
    """An open type in lower case: each mention was given its own by hand."""
    fine, coarse = fine_and_coarse(label)
    return f"{fine}; {coarse}" if ";" in label else fine


def read_open(path: Path, context: Context) -> Iterator[Doc]:
    """One document per sentence, of marked text or of sents.json."""
    if unzipped(path).name == SENTENCES:
        yield from _numbered(path, context)
        return
    for i, line in enumerate(lines(path, context.settings.encoding), 1):
        if line.strip() and not (i == 1 and line.startswith(DOMAIN)):
            sentence = parse_line(path, i, line.strip(), None)
            for *_, label in sentence.spans:
                _check_types(label, Place(path, i))
            yield _marked_doc(path, sentence, "", context)


def _check_types(label: str, place: Place) -> str:
    if not all(part.strip() for part in label.split(";")) or label.count(";") > 1:
        raise unreadable(place, f"found the types {label!r}", "Write `fine type; coarse type`.")
    return read_label(label, place)


def _numbered(path: Path, context: Context) -> Iterator[Doc]:
    """Sentences by number, and their mentions with types in the files beside."""
    encoding = context.settings.encoding
    text = read_text(path, encoding)
    try:
        sentences = [words for _, words in json.loads(text)]
    except (ValueError, TypeError, RecursionError) as error:
        raise unreadable(Place(path, 1), error, ROWS_FIX) from error
    if not all(isinstance(words, list) for words in sentences):
        raise unreadable(Place(path, 1), "not all sentences are lists of tokens", ROWS_FIX)
    files = sorted(file for file in path.parent.iterdir() if ANNOTATION.fullmatch(file.name))
    if not files:
        fix = f"Put the annotation of {SENTENCES} beside it: ann00.txt, ann01.txt and so on."
        raise ValueError(Errors.L402.format(path=path.with_name("ann*.txt"), fix=fix))
    seen: set[int] = set()
    for file in files:
        for i, line in enumerate(lines(file, encoding), 1):
            if not line.strip():
                continue
            place = Place(file, i)
            number, _, text = line.partition("\t")
            n = int(number) if number.isdecimal() else -1
            if not 0 <= n < len(sentences) or n in seen or not sentences[n]:
                problem = f"no sentence of {SENTENCES} has the number {number[:20]!r}, or twice"
                raise unreadable(place, problem, LINE_FIX)
            seen.add(n)
            words, _ = Tagger(context)(
                [TaggedToken(place, check_text(word, place), "O") for word in sentences[n]]
            )
            doc = Doc(context.nlp.vocab, words=words)
            yield annotate(doc, _mentions(doc, text.strip(), place, context), None, context.events)


def _mentions(doc: Doc, text: str, place: Place, context: Context) -> Iterator[CharSpan]:
    """The places of the listed mentions: each in all its places that no longer one takes.

    A mention that is listed several times has its types in the order of its places.
    """
    listed: dict[tuple[str, ...], list[str]] = {}
    for item in text.split(" | ") if text != "-" else []:
        mention, arrow, label = item.partition(" => ")
        if not arrow or not mention.strip():
            raise unreadable(place, f"found {item[:60]!r} as a mention", LINE_FIX)
        listed.setdefault(tuple(mention.split()), []).append(_check_types(label, place))
    words, taken = tuple(token.text for token in doc), set[int]()
    for mention, labels in sorted(listed.items(), key=lambda own: -len(own[0])):
        n = len(mention)
        everywhere = [i for i in range(len(words) - n + 1) if words[i : i + n] == mention]
        if not everywhere:
            detail = f"{' '.join(mention)!r} in {doc.text[:60]!r}"
            for label in labels:
                context.events.add("absent", label, place, detail)
            continue
        free = [i for i in everywhere if taken.isdisjoint(range(i, i + n))] or everywhere[:1]
        for k in range(max(len(free), len(labels))):
            first = free[min(k, len(free) - 1)]
            taken.update(range(first, first + n))
            span, label = doc[first : first + n], labels[min(k, len(labels) - 1)]
            yield CharSpan(span.start_char, span.end_char, label, place)
