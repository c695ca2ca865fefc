"""brat standoff: a text file and an .ann file of the same name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Events
from .spans import CharSpan, Text, check_span, same_text, text_doc
from .text import Place, beside, lines, read_text, unreadable, unzipped

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

    def parts(self, text: str) -> list[CharSpan]:
        """Its parts; brat also splits a span at each line end within it, which is not a gap."""
        parts: list[CharSpan] = []
        for pair in self.offsets.split(";"):
            start, end = map(int, pair.split(" "))
            if parts and 0 <= parts[-1].end <= start and not text[parts[-1].end : start].strip():
                start = parts.pop().start
            parts.append(CharSpan(self.place, None, start, end, self.label))
        return parts

    def covers(self, text: str) -> bool:
        return same_text(self.quote, " ".join(text[s.start : s.end] for s in self.parts(text)))


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """The text as one document, without sentence boundaries.

    path (Path): The .txt file; the .ann file stands beside it.
    context (Context): Tokenizer, settings, and events, which count spans that are not continuous.
    """
    settings, events, place = context.settings, context.events, Place(path, 1)
    # brat counts the characters of the file as it is, line ends included
    text = read_text(path, settings.encoding, newline="")
    bounds = _read_annotations(annotation_file(path), settings.encoding, events)
    folded = text.replace("\r\n", "\n")  # as other programs count
    if not all(b.covers(text) for b in bounds) and all(b.covers(folded) for b in bounds):
        events.add("folded", "files", place)
        text = folded
    spans: list[CharSpan] = []
    unclear: list[CharSpan] = []
    for bound in bounds:
        parts = [check_span(text, part, events) for part in bound.parts(text)]
        if not bound.covers(text):
            problem = f"{bound.quote!r} does not stand at {bound.offsets}"
            raise unreadable(bound.place, problem, "Count characters from 0, the end exclusive.")
        if len(parts) > 1:
            detail = f"{bound.label} {bound.quote!r}"
            events.add("discontinuous", bound.label, bound.place, detail)
        (spans if len(parts) == 1 else unclear).extend(parts)
    if doc := text_doc(Text(place, text, spans, unclear), context):
        yield doc


def annotation_file(path: Path) -> Path:
    """The .ann file of a .txt file."""
    return beside(path, unzipped(path).with_suffix(".ann").name)


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
