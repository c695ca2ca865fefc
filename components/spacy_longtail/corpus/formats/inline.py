"""Mentions marked in their text: articles, OpenNLP's training format, and free-text types."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spacy.tokens import Doc

from .context import Context, Events
from .options import FileOptions, Misaligned, SpanOptions
from .spans import CharSpan, Text, annotate, check_text, read_label
from .tags import TaggedToken, TagReader, tokens_doc
from .text import Place, beside, lines, read_text, unreadable, unzipped

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
                raise unreadable(
                    place,
                    f"expected a header line that begins with '{name}: '",
                    "docs/corpora.md shows an article.",
                )
            header[name] = line.partition(": ")[2].strip()
        for place, line in rows:
            if not line.strip():
                continue
            sentence = parse_line(line.strip(), place)
            text += " " if text else ""
            starts.add(len(text))
            for span in sentence.spans:
                if span.label not in (context.labels or (span.label,)):
                    raise unreadable(
                        span.place,
                        f"unknown type {span.label!r} instead of {', '.join(context.labels)}",
                        "Declare it in corpus.json, or correct it.",
                    )
                at = len(text) + span.start, len(text) + span.end
                spans.append(span._replace(start=at[0], end=at[1]))
            text += sentence.text
        yield Text(Place(path, 1), text, spans, (), header, starts=starts)


def is_article(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file starts with the header of an article."""
    return head.startswith(f"{HEADER[0]}: ")


START, END = re.compile(r"<START(?::(.+))?>"), "<END>"
NAME_FIX = "Write <START:type> token ... <END>, with blanks between."


@dataclass(frozen=True, kw_only=True)
class OpennlpReader(FileOptions):
    """Reader of OpenNLP's name finder format. A name without a type gets the type "default"."""

    def read(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield one document per sentence. The tokens are as given."""
        reader = TagReader(context, "iob2")
        for place, line in lines(path, self.encoding):
            if rows := _rows(line, place):
                yield tokens_doc(context.nlp.vocab, [reader.read(rows)])


def _rows(line: str, place: Place) -> list[TaggedToken]:
    rows: list[TaggedToken] = []
    label, prefix = "", ""  # of the open name
    for token in line.split():
        if start := START.fullmatch(token):
            if label:
                raise unreadable(place, f"{token} begins a name within another one", NAME_FIX)
            label, prefix = start[1] or "default", "B"
        elif token == END:
            if prefix != "I":
                raise unreadable(place, f"{END} ends no name, or one without a token", NAME_FIX)
            label = prefix = ""
        else:
            rows.append(TaggedToken(place, token, f"{prefix}-{label}" if label else "O"))
            prefix = "I" if label else ""
    if label:
        raise unreadable(place, f"a name of type {label!r} has no {END}", NAME_FIX)
    return rows


def is_opennlp(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file marks names as OpenNLP does."""
    return "<START" in head and END in head


DOMAIN = "domain: "
SENTENCES = "sents.json"
LISTS = re.compile(r"ann\d*\.txt(\.gz)?")  # files of mentions, in the folder of the sentences
LIST_FIX = "Write `ID<TAB>mention => fine type; coarse type | ...`, or `ID<TAB>-`."


def is_open(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text starts with its domain, marks two types, or lists mentions."""
    is_marked = any("; " in label for _, label in MENTION.findall(head))
    return head.startswith(DOMAIN) or is_marked or _is_list(path)


def _is_list(path: Path) -> bool:
    return bool(LISTS.fullmatch(path.name)) and beside(path, SENTENCES).is_file()


def is_sentences(path: Path, siblings: list[str]) -> bool:
    """Return whether a file holds sentences that are read together with their lists of mentions."""
    return unzipped(path).name == SENTENCES and any(map(LISTS.fullmatch, siblings))


def fine_and_coarse(label: str) -> tuple[str, str]:
    """Return the two levels of a type such as "football club; organization", or one level twice."""
    fine, _, coarse = (" ".join(part.split()).casefold() for part in label.partition(";"))
    return fine, coarse or fine


def _check_levels(label: str, place: Place) -> str:
    if label.count(";") > 1 or not all(level.strip() for level in label.split(";")):
        raise unreadable(place, f"found the types {label!r}", "Write `fine type; coarse type`.")
    return read_label(label, place)


@dataclass(frozen=True, kw_only=True)
class OpenReader(FileOptions, SpanOptions):
    """Reader of free-text types, such as "football club; organization", one per mention.

    Each sentence becomes a document. The source has sentences with marked mentions, or numbered
    sentences in sents.json and lists of their mentions in ann00.txt and so on.
    """

    misaligned: Misaligned = "expand"

    def read(self, path: Path, context: Context) -> Iterator[Doc | Text]:
        """Yield the sentences of a text with marked mentions, or of a list of mentions."""
        if _is_list(path):
            yield from self._numbered(path, context)
            return
        for place, line in lines(path, self.encoding):
            if line.strip() and not (place.line == 1 and line.startswith(DOMAIN)):
                sentence = parse_line(line.strip(), place)
                for span in sentence.spans:
                    _check_levels(span.label, place)
                yield sentence

    def _numbered(self, path: Path, context: Context) -> Iterator[Doc]:
        """Yield one document for each line of a list. The tokens are as given."""
        source = beside(path, SENTENCES)
        text = read_text(source, self.encoding)
        try:
            by_number = {str(i): words for i, (_, words) in enumerate(json.loads(text))}
        except (ValueError, TypeError, RecursionError) as error:
            raise unreadable(
                Place(source, 1), error, 'Write a list of ["source", ["token", ...]].'
            ) from error
        reader = TagReader(context, "auto")
        for place, line in lines(path, self.encoding):
            number, _, listed = line.strip().partition("\t")
            if not number:
                continue
            words = by_number.pop(number, None)
            if not isinstance(words, list) or not words:
                raise unreadable(
                    place,
                    f"{SENTENCES} has no tokens of number {number[:20]!r}, or it comes twice",
                    LIST_FIX,
                )
            tokens = [TaggedToken(place, check_text(word, place)) for word in words]
            doc = Doc(context.nlp.vocab, words=[token.word for token in reader.read(tokens)])
            mentions = () if listed == "-" else _mentions(doc, listed, place, context.events)
            yield annotate(doc, mentions, context)


def _mentions(doc: Doc, listed: str, place: Place, events: Events) -> Iterator[CharSpan]:
    """Find the listed mentions in a sentence, and yield a span for each place.

    Where two mentions overlap, the longer one is taken, or the first in the list.
    """
    mentions: list[tuple[list[str], str]] = []
    for item in listed.split(" | "):
        mention, arrow, label = item.partition(" => ")
        if not arrow or not mention.strip():
            raise unreadable(place, f"found {item[:60]!r} as a mention", LIST_FIX)
        mentions.append((mention.split(), _check_levels(label, place)))
    words, taken = [token.text for token in doc], set[int]()
    for mention, label in sorted(mentions, key=lambda pair: -len(pair[0])):
        n = len(mention)
        places = [i for i in range(len(words) - n + 1) if words[i : i + n] == mention]
        if not places:
            events.add("absent", label, place, f"{' '.join(mention)!r} in {doc.text[:60]!r}")
        # a mention without a free place is counted as overlapping or doubled
        for first in [i for i in places if taken.isdisjoint(range(i, i + n))] or places[:1]:
            taken.update(range(first, first + n))
            span = doc[first : first + n]
            yield CharSpan(place, None, span.start_char, span.end_char, label)
