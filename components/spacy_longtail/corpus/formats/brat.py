"""brat standoff: a text file and an .ann file of the same name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Events, Place
from .offsets import same_text
from .spans import COUNT, CharSpan, annotate, bad_span, check_span, problem_of_quote
from .text import GZIP, bad_line, lines, read_text, unzipped
from .tokens import check_text, tokenize

# T<id> TAB type start end[;start end ...] TAB text
PAIR = r"-?\d{1,15} -?\d{1,15}"
BOUND = re.compile(rf"T[^\t]*\t(\S+) ({PAIR}(?:;{PAIR})*)\t(.*)")
KINDS = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes"}
KINDS |= {"N": "normalizations", "#": "notes", "*": "equivalences"}
FIX = "brat writes T1 TAB type start end TAB text."


class _Bound(NamedTuple):
    """A line of an .ann file with a type and a text."""

    place: Place
    label: str
    offsets: str
    quote: str

    def covers(self, text: str) -> bool:
        pairs = _fragments(text, self.offsets)
        return same_text(self.quote, " ".join(text[start:end] for start, end in pairs))


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """The text as one document, without sentence boundaries.

    path (Path): The .txt file; the .ann file stands beside it.
    context (Context): Tokenizer, settings, and events, which count spans that are not continuous.
    """
    settings, events = context.settings, context.events
    # brat counts the characters of the file as it is, line ends included
    text = check_text(read_text(path, settings.encoding, newline=""), Place(path, 1))
    bounds: list[_Bound] = []
    if not settings.unlabelled:
        bounds = _read_annotations(annotation_file(path), settings.encoding, events)
        folded = text.replace("\r\n", "\n")  # as other programs count
        if not all(own.covers(text) for own in bounds) and all(own.covers(folded) for own in bounds):
            events.add("folded", "files", Place(path, 1))
            text = folded
    mentions, fragments = _spans(bounds, text, events)
    if not text.strip():
        events.add("empty", "files", Place(path, 1))
        return
    doc = tokenize(context.nlp, text, Place(path, 1))
    yield annotate(doc, mentions, settings.misaligned, events, fragments)


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
        elif line.strip():
            match = BOUND.fullmatch(line)
            if match is None:
                problem = f"expected an annotation, found {line[:60]!r}"
                raise bad_line(path, i, problem, FIX)
            bounds.append(_Bound(place, *match.groups()))
    return bounds


def _spans(bounds: list[_Bound], text: str, events: Events) -> tuple[list[CharSpan], list[CharSpan]]:
    """Continuous spans, and the fragments of the others."""
    mentions: list[CharSpan] = []
    fragments: list[CharSpan] = []
    for place, label, offsets, quote in bounds:
        found = _fragments(text, offsets)
        if len(found) == 1:
            mentions.append(check_span(text, *found[0], label, place, events, quote))
            continue
        parts = [check_span(text, *span, label, place, events) for span in found]
        covered = " ".join(text[part.start : part.end] for part in parts)
        if problem := problem_of_quote(quote, covered):
            raise bad_span(place, f"{offsets} {label!r}", problem, COUNT)
        events.add("discontinuous", label, place, f"{label} {quote!r}")
        fragments += parts
    return mentions, fragments


def _fragments(text: str, offsets: str) -> list[tuple[int, int]]:
    """The fragments of a span; brat also splits one at each line end within it, which is not a gap."""
    found: list[tuple[int, int]] = []
    for pair in offsets.split(";"):
        start, end = map(int, pair.split(" "))
        if found and 0 <= found[-1][1] <= start and not text[found[-1][1] : start].strip():
            start = found.pop()[0]
        found.append((start, end))
    return found
