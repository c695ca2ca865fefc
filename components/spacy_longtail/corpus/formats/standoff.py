"""Annotations apart from their text, by offsets: brat, PubTator, and UIMA CAS as XMI."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import Errors
from .context import Context
from .offsets import character_offsets
from .options import FileOptions, SpanOptions
from .spans import COUNT, CharSpan, Text, same_text
from .text import Place, beside, lines, read_text, unreadable, unzipped, xml_elements

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
                raise unreadable(
                    place,
                    f"expected an annotation, found {line[:60]!r}",
                    "brat writes T1 TAB type start end TAB text.",
                )
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


PASSAGE = re.compile(r"(\d+)\|([ta])\|(.*)")  # ID|t|title and ID|a|abstract
PUBTATOR_FIX = (
    "PubTator writes ID|t|title, ID|a|abstract, then ID TAB start TAB end TAB mention TAB type."
)


@dataclass(frozen=True, kw_only=True)
class PubtatorReader(FileOptions, SpanOptions):
    """Reader of PubTator. An article is one document: its title, a blank, its abstract."""

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield each article. Relations between its entities are counted."""
        place, name, texts, spans = Place(path, 1), "", list[str](), list[CharSpan]()
        for at, line in lines(path, self.encoding):
            cells = line.split("\t")
            if part := PASSAGE.fullmatch(line):
                if part[2] == "t":
                    if texts:
                        yield Text(place, " ".join(texts), spans, (), {"article": name})
                    place, name, texts, spans = at, part[1], [], []
                texts.append(part[3])
            elif len(cells) >= 5 and cells[1].isdecimal() and cells[2].isdecimal():
                start, end = int(cells[1][:15]), int(cells[2][:15])
                spans.append(CharSpan(at, cells[3], start, end, cells[4]))
            elif len(cells) == 4:
                context.events.add("ignored", "relations", at)
            elif line.strip():
                raise unreadable(at, f"expected an annotation, found {line[:60]!r}", PUBTATOR_FIX)
        if texts:
            yield Text(place, " ".join(texts), spans, (), {"article": name})


def is_pubtator(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether a text file starts with the title of a PubTator article."""
    found = PASSAGE.match(head.lstrip())
    return bool(found) and found[2] == "t"  # type: ignore[index]


FEATURES = ("value", "label", "identifier", "entityType")  # features that name the type of an entity
XMI_FIX = "Export UIMA CAS XMI with the layer of the named entities."


@dataclass(frozen=True, kw_only=True)
class XmiReader(SpanOptions):
    """Reader of UIMA CAS XMI. Entities are NamedEntity annotations, or those of a custom layer."""

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield the text of a file, with its sentence boundaries."""
        place, text = Place(path, 1), ""
        starts, spans, others = set[int](), list[CharSpan](), list[CharSpan]()
        for root in xml_elements(path, "{http://www.omg.org/XMI}XMI"):
            for element in root:
                name, about = element.tag.rpartition("}")[2], element.attrib
                if name == "Sofa":
                    text = about.get("sofaString", "")
                begin, end = about.get("begin", ""), about.get("end", "")
                if not (begin.isdecimal() and end.isdecimal()):
                    continue
                if name == "Sentence":
                    starts.add(int(begin[:15]))
                label = next((about[key] for key in FEATURES if about.get(key)), "")
                if name == "NamedEntity" and not label:
                    context.events.add("unreadable", "without a type", place)
                elif label and (name == "NamedEntity" or "custom" in element.tag):
                    span = CharSpan(place, None, int(begin[:15]), int(end[:15]), label)
                    (spans if name == "NamedEntity" else others).append(span)
        if not text:
            raise unreadable(place, "it has no Sofa with a text", XMI_FIX)
        at = character_offsets(text)  # Java counts UTF-16 units
        if any(span.end >= len(at) for span in spans + others):
            raise unreadable(place, f"a span ends after the text of {len(text)} characters", XMI_FIX)
        moved = [span._replace(start=at[span.start], end=at[span.end]) for span in spans or others]
        begins = {at[start] for start in starts if start < len(at)}
        yield Text(place, text, moved, starts=begins or None)
