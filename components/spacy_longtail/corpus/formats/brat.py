"""brat standoff: a text file and an .ann file of the same name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import Errors
from .context import Context
from .options import FileOptions, SpanOptions
from .spans import COUNT, CharSpan, Text, same_text
from .text import Place, beside, lines, read_text, unreadable, unzipped

# T<id> TAB type start end[;start end ...] TAB text
PAIR = r"-?\d{1,15} -?\d{1,15}"
BOUND = re.compile(rf"T[^\t]*\t(\S+) ({PAIR}(?:;{PAIR})*)\t(.*)")
KINDS = {
    "R": "relations",
    "E": "events",
    "A": "attributes",
    "M": "attributes",
    "N": "normalizations",
    "#": "notes",
    "*": "equivalences",
}


@dataclass(frozen=True, kw_only=True)
class BratReader(FileOptions, SpanOptions):
    """Reader of brat standoff. A file is one document without sentence boundaries."""

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield the text of a file, with the spans of the .ann file beside it."""
        annotations, encoding = annotation_file(path), self.encoding
        if not annotations.is_file():
            fix = "Every .txt file needs its .ann file; an empty one says that there is no entity."
            raise ValueError(Errors.L402.format(path=annotations, fix=fix))
        bounds: list[tuple[Place, str, str, str]] = []  # where, type, offsets, text
        for place, line in lines(annotations, encoding):
            if line[:1] in KINDS:
                context.events.add("ignored", KINDS[line[0]], place)
            elif match := BOUND.fullmatch(line):
                bounds.append((place, match[1], match[2], match[3]))
            elif line.strip():
                problem = f"expected an annotation, found {line[:60]!r}"
                raise unreadable(place, problem, "brat writes T1 TAB type start end TAB text.")
        text = read_text(path, encoding, newline="")  # brat counts the line ends as they are
        folded = text.replace("\r\n", "\n")  # as other programs count
        if not _stand_in(text, bounds) and _stand_in(folded, bounds):
            context.events.add("folded", "files", Place(path, 1))
            text = folded
        spans, unclear = list[CharSpan](), list[CharSpan]()
        for place, label, offsets, quote in bounds:
            parts = _parts(text, offsets)
            if len(parts) == 1:
                spans.append(CharSpan(place, quote, *parts[0], label))
                continue
            if not _stand_in(text, [(place, label, offsets, quote)]):
                raise unreadable(place, f"{quote!r} does not stand at {offsets}", COUNT)
            context.events.add("discontinuous", label, place, f"{label} {quote!r}")
            unclear += [CharSpan(place, None, *pair, label) for pair in parts]
        yield Text(Place(path, 1), text, spans, unclear)


def is_brat(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a .txt file has an .ann file, or is in a folder that has some."""
    return ".ann" in siblings or annotation_file(path).is_file()


def annotation_file(path: Path) -> Path:
    """Return the path of the .ann file of a .txt file."""
    return beside(path, unzipped(path).with_suffix(".ann").name)


def _parts(text: str, offsets: str) -> list[tuple[int, int]]:
    """Return the parts of a span. Parts that brat split at a line end are joined."""
    parts: list[tuple[int, int]] = []
    for pair in offsets.split(";"):
        start, end = map(int, pair.split(" "))
        if parts and 0 <= parts[-1][1] <= start and not text[parts[-1][1] : start].strip():
            start = parts.pop()[0]
        parts.append((start, end))
    return parts


def _stand_in(text: str, bounds: list[tuple[Place, str, str, str]]) -> bool:
    """Return whether the text of every annotation is at its offsets."""
    return all(
        same_text(quote, " ".join(text[start:end] for start, end in _parts(text, offsets)))
        for _, _, offsets, quote in bounds
    )
