"""brat standoff: a text file and an .ann file of the same name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Events
from .offsets import same_text
from .spans import (
    COUNT,
    CharSpan,
    annotate,
    check_span,
    check_text,
    problem_of_quote,
    tokenize,
)
from .text import GZIP, Place, lines, read_text, unreadable, unzipped

# T<id> TAB type start end[;start end ...] TAB text
PAIR = r"-?\d{1,15} -?\d{1,15}"
BOUND = re.compile(rf"T[^\t]*\t(\S+) ({PAIR}(?:;{PAIR})*)\t(.*)")
KINDS = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes"}
KINDS |= {"N": "normalizations", "#": "notes", "*": "equivalences"}


class _Bound(NamedTuple):
    """A line of an .ann file with a type and a text."""

    place: Place
    label: str
    offsets: str
    quote: str

    def fragments(self, text: str) -> list[tuple[int, int]]:
        """Its parts; brat also splits a span at each line end within it, which is not a gap."""
        found: list[tuple[int, int]] = []
        for pair in self.offsets.split(";"):
            start, end = map(int, pair.split(" "))
            if found and 0 <= found[-1][1] <= start and not text[found[-1][1] : start].strip():
                start = found.pop()[0]
            found.append((start, end))
        return found

    def covers(self, text: str) -> bool:
        return same_text(self.quote, " ".join(text[a:b] for a, b in self.fragments(text)))


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """The text as one document, without sentence boundaries.

    path (Path): The .txt file; the .ann file stands beside it.
    context (Context): Tokenizer, settings, and events, which count spans that are not continuous.
    """
    settings, events, place = context.settings, context.events, Place(path, 1)
    # brat counts the characters of the file as it is, line ends included
    text = check_text(read_text(path, settings.encoding, newline=""), place)
    bounds: list[_Bound] = []
    if not settings.unlabelled:
        bounds = _read_annotations(annotation_file(path), settings.encoding, events)
        folded = text.replace("\r\n", "\n")  # as other programs count
        if not all(b.covers(text) for b in bounds) and all(b.covers(folded) for b in bounds):
            events.add("folded", "files", place)
            text = folded
    mentions: list[CharSpan] = []
    unclear: list[CharSpan] = []
    for bound in bounds:
        parts = bound.fragments(text)
        quote = bound.quote if len(parts) == 1 else None
        spans = [check_span(text, a, b, bound.label, bound.place, events, quote) for a, b in parts]
        if len(spans) == 1:
            mentions += spans
            continue
        covered = " ".join(text[span.start : span.end] for span in spans)
        if problem := problem_of_quote(bound.quote, covered):
            raise unreadable(bound.place, f"{bound.offsets} {bound.label!r} {problem}", COUNT)
        events.add("discontinuous", bound.label, bound.place, f"{bound.label} {bound.quote!r}")
        unclear += spans
    if not text.strip():
        events.add("empty", "files", place)
        return
    doc = tokenize(context.nlp, text, place)
    yield annotate(doc, mentions, settings.misaligned, events, unclear)


def annotation_file(path: Path) -> Path:
    """The .ann file of a .txt file; the one of a .txt.gz file may be gzipped, too."""
    plain = unzipped(path).with_suffix(".ann")
    packed = plain.with_name(f"{plain.name}{GZIP}")
    return packed if packed.is_file() and not plain.is_file() else plain


def _read_annotations(path: Path, encoding: str, events: Events) -> list[_Bound]:
    if not path.is_file():
        fix = "Every .txt file needs its .ann file; an empty one says that there is no entity."
        raise ValueError(Errors.L402.format(path=path, fix=fix))
    bounds = []
    for i, line in enumerate(lines(path, encoding), 1):
        place = Place(path, i)
        if line[:1] in KINDS:
            events.add("ignored", KINDS[line[0]], place)
        elif match := BOUND.fullmatch(line):
            bounds.append(_Bound(place, *match.groups()))
        elif line.strip():
            problem = f"expected an annotation, found {line[:60]!r}"
            raise unreadable(place, problem, "brat writes T1 TAB type start end TAB text.")
    return bounds
