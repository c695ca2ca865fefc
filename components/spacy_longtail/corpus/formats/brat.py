"""brat standoff: a text file and an .ann file of the same name."""

import re
from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context
from .spans import COUNT, CharSpan, Text, same_text, text_doc
from .text import Place, beside, lines, read_text, unreadable, unzipped

# T<id> TAB type start end[;start end ...] TAB text
PAIR = r"-?\d{1,15} -?\d{1,15}"
BOUND = re.compile(rf"T[^\t]*\t(\S+) ({PAIR}(?:;{PAIR})*)\t(.*)")
KINDS = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes"}
KINDS |= {"N": "normalizations", "#": "notes", "*": "equivalences"}


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """The text as one document, without sentence boundaries.

    path (Path): The .txt file; the .ann file stands beside it.
    context (Context): Tokenizer, settings, and events, which count spans that are not continuous.
    """
    annotations, encoding = annotation_file(path), context.settings.encoding
    if not annotations.is_file():
        fix = "Every .txt file needs its .ann file; an empty one says that there is no entity."
        raise ValueError(Errors.L402.format(path=annotations, fix=fix))
    text = read_text(path, encoding, newline="")  # brat counts the line ends as they are
    spans, unclear = list[CharSpan](), list[CharSpan]()
    for i, line in enumerate(lines(annotations, encoding), 1):
        place = Place(annotations, i)
        if line[:1] in KINDS:
            context.events.add("ignored", KINDS[line[0]], place)
        elif match := BOUND.fullmatch(line):
            label, offsets, quote = match.groups()
            bounds = _bounds(text, offsets)
            if len(bounds) == 1:
                spans.append(CharSpan(place, quote, *bounds[0], label))
                continue
            if not same_text(quote, " ".join(text[start:end] for start, end in bounds)):
                raise unreadable(place, f"{quote!r} does not stand at {offsets}", COUNT)
            context.events.add("discontinuous", label, place, f"{label} {quote!r}")
            unclear += [CharSpan(place, None, *pair, label) for pair in bounds]
        elif line.strip():
            problem = f"expected an annotation, found {line[:60]!r}"
            raise unreadable(place, problem, "brat writes T1 TAB type start end TAB text.")
    if doc := text_doc(Text(Place(path, 1), text, spans, unclear), context):
        yield doc


def annotation_file(path: Path) -> Path:
    """The .ann file of a .txt file."""
    return beside(path, unzipped(path).with_suffix(".ann").name)


def _bounds(text: str, offsets: str) -> list[tuple[int, int]]:
    """The parts of a span; brat also splits one at each line end within it, which is no gap."""
    bounds: list[tuple[int, int]] = []
    for pair in offsets.split(";"):
        start, end = map(int, pair.split(" "))
        if bounds and 0 <= bounds[-1][1] <= start and not text[bounds[-1][1] : start].strip():
            start = bounds.pop()[0]
        bounds.append((start, end))
    return bounds
