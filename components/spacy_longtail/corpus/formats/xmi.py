"""UIMA CAS as XMI, which INCEpTION and other DKPro tools write: a text and its annotations."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .context import Context
from .offsets import character_offsets
from .options import SpanOptions
from .spans import CharSpan, Text
from .text import Place, unreadable, xml_elements

LABELS = ("value", "label", "identifier", "entityType")  # features that name the type of an entity
FIX = "Export UIMA CAS XMI with the layer of the named entities."


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
                label = next((about[key] for key in LABELS if about.get(key)), "")
                if name == "NamedEntity" and not label:
                    context.events.add("unreadable", "without a type", place)
                elif label and (name == "NamedEntity" or "custom" in element.tag):
                    span = CharSpan(place, None, int(begin[:15]), int(end[:15]), label)
                    (spans if name == "NamedEntity" else others).append(span)
        if not text:
            raise unreadable(place, "it has no Sofa with a text", FIX)
        at = character_offsets(text)  # Java counts UTF-16 units
        if any(span.end >= len(at) for span in spans + others):
            raise unreadable(place, f"a span ends after the text of {len(text)} characters", FIX)
        moved = [span._replace(start=at[span.start], end=at[span.end]) for span in spans or others]
        begins = {at[start] for start in starts if start < len(at)}
        yield Text(place, text, moved, starts=begins or None)
