"""BioC, as XML or JSON: passages with annotations; offsets count from the document's start."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from .context import Context, Events
from .json_files import JsonObject
from .options import SpanOptions
from .spans import CharSpan, Text, same_text
from .text import Place, unreadable, xml_elements

PASSAGES = "passages"  # key of a document in JSON
FIX = "BioC gives each passage an offset and a text, each annotation an infon type and locations."


@dataclass(frozen=True, kw_only=True)
class BiocReader(SpanOptions):
    """Reader of BioC in XML. In JSON it is one of the formats of `json`."""

    def read(self, path: Path, context: Context) -> Iterator[Text]:
        """Yield each passage as a text. Annotations that are not entities are counted."""
        for i, element in enumerate(xml_elements(path, "document"), 1):
            yield from passage_texts(_document(element), Place(path, 0, i), context.events)


def is_bioc(path: Path, head: str, siblings: set[str]) -> bool:
    """Return whether an XML file is BioC."""
    return "<collection" in head or "BioC" in head


def passage_texts(document: JsonObject, place: Place, events: Events) -> Iterator[Text]:
    """Yield the passages of a document, or their sentences where these have the text.

    document (Dict[str, Any]): The document, in the form that BioC has in JSON.
    place (Place): Its place, for messages.
    events (Events): Counts of what is skipped.
    """
    try:
        for passage in document[PASSAGES]:
            parts = [passage] if passage.get("text") else passage.get("sentences") or []
            for part in parts:
                yield _text_of(part, str(document.get("id", "")), place, events)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise unreadable(place, f"the document has another form ({error})", FIX) from error


def _text_of(part: JsonObject, name: str, place: Place, events: Events) -> Text:
    """Return a passage or sentence as a text.

    part (JsonObject): The passage or sentence.
    name (str): ID of the document, for `user_data`.
    place (Place): Place of the document, for messages.
    events (Events): Counts of what is skipped.
    """
    offset, text = int(part["offset"]), part["text"]
    spans, unclear = list[CharSpan](), list[CharSpan]()
    for annotation in part.get("annotations") or ():
        label, quote = annotation["infons"].get("type"), annotation.get("text")
        bounds = [(int(at["offset"]) - offset, int(at["length"])) for at in annotation["locations"]]
        found = [CharSpan(place, None, start, start + length, label) for start, length in bounds]
        if len(found) == 1:
            spans.append(found[0]._replace(quote=quote))
            continue
        covered = " ".join(text[span.start : span.end] for span in found)
        if not found or (quote and not same_text(quote, covered)):
            events.add("unreadable", str(label), place)
            continue
        events.add("discontinuous", str(label), place, f"{label} {quote!r}")
        unclear += found
    return Text(place, text, spans, unclear, {"document": name})


def _document(element: ElementTree.Element) -> JsonObject:
    """Return a document of XML as it is in JSON."""

    def part(element: ElementTree.Element) -> JsonObject:
        annotations = [
            {
                "infons": {infon.get("key"): infon.text for infon in item.iter("infon")},
                "text": item.findtext("text"),
                "locations": [dict(at.attrib) for at in item.iter("location")],
            }
            for item in element.findall("annotation")
        ]
        about = {"offset": element.findtext("offset"), "text": element.findtext("text")}
        sentences = [*map(part, element.findall("sentence"))]
        return {**about, "annotations": annotations, "sentences": sentences}

    return {"id": element.findtext("id"), PASSAGES: [*map(part, element.findall("passage"))]}
