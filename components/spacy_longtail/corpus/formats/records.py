"""JSON records of annotation tools: a text and its spans, or tokens with tags or spans.

Prodigy, Doccano, Label Studio, NER Annotator, LightTag, Rasa, BioC, spaCy, Hugging Face, GLiNER,
DyGIE, and plain text with entities.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from . import bioc
from .context import Context, Events
from .json_files import JsonObject, read_records
from .json_tokens import (
    PARAGRAPHS,
    TAG,
    doc_of_tags,
    doc_of_token_spans,
    docs_of_paragraphs,
    has_token_spans,
)
from .offsets import in_characters
from .options import DEFAULT_COLUMNS, UTF16, Columns, Offsets, SpanOptions, TagOptions, check_columns
from .spans import CharSpan, Text, keep_values
from .tags import TagReader, is_tag
from .text import Place, unreadable

SPANS = ("spans", "entities", "ents", "labels", "label", "annotations")  # keys of lists of spans
MINIMAL = "annotation_id"  # key that only Label Studio's JSON-MIN has
ANNOTATIONS = ("annotations", "completions")  # keys of Label Studio; the second is its older name
OFFSETS = "offsets"  # key of the unit of the record's offsets
# keys with text or annotation, which are not copied to user_data
NAMED = ("id", "text", "content", "data", "answer", "tokens", "sents", OFFSETS, *SPANS)
SPAN_FIX = "A span is [start, end, type], or an object with start, end and label."
BOUNDS = (("start", "end"), ("start_offset", "end_offset"), ("start_char", "end_char"), ("begin", "end"))
TYPE_KEYS = ("label", "labels", "type", "entity_group", "tag", "entity")
# errors that are raised when a record has another form than expected
OTHER_FORM = (TypeError, KeyError, IndexError, AttributeError)


@dataclass(frozen=True, kw_only=True)
class JsonReader(TagOptions, SpanOptions):
    """Reader of JSON: one object per line, one array, or indented objects.

    columns (Columns): Keys of the tokens and of their tags.
    tag_names (Optional[Tuple[str, ...]]): The tags that numbers stand for, in order.
    text_key (Optional[str]): Key of the text; null takes each tool's own.
    offsets (Optional[str]): Unit of the character offsets; null detects it.
    """

    columns: Columns = DEFAULT_COLUMNS
    tag_names: tuple[str, ...] | None = None
    text_key: str | None = None
    offsets: Offsets | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, {"token", "tag"}, set(), "json")

    def read(self, path: Path, context: Context) -> Iterator[Doc | Text]:
        """Yield each accepted record. Plain values beside the text go to its `user_data`."""
        tags = TagReader(context, self.scheme)
        for place, record in read_records(path, self.encoding):
            try:
                yield from self.items(record, place, context, tags)
            except OTHER_FORM as error:
                raise unreadable(
                    place, f"found {str(record)[:60]!r}, whose annotation has another form", SPAN_FIX
                ) from error

    def items(
        self, record: JsonObject, place: Place, context: Context, tags: TagReader
    ) -> Iterator[Doc | Text]:
        """Yield the documents or texts of a record.

        record (JsonObject): The record.
        place (Place): Its place, for messages.
        context (Context): Context of the conversion.
        tags (TagReader): Reads the tags of the record's file.
        """
        has_tokens = (self.columns.tag or TAG) in record or has_token_spans(record)
        if context.texts_only and (has_tokens or PARAGRAPHS in record):
            return
        if isinstance(record.get(PARAGRAPHS), list):
            yield from docs_of_paragraphs(record, place, context, tags)
        elif has_tokens:
            if has_token_spans(record):
                doc = doc_of_token_spans(record, place, context)
            else:
                doc = doc_of_tags(record, place, context, self.columns, self.tag_names, tags)
            if doc:
                keep_values(doc, _about(record), place)
                yield doc
            else:
                context.events.add("empty", "texts", place)
        else:
            for text in self._texts(record, place, context.events):
                yield in_characters(text, self.offsets, context.events)

    def _texts(self, record: JsonObject, place: Place, events: Events) -> Iterable[Text]:
        """Return the texts of a record, in the form of the tool that wrote it."""
        if not record:  # nobody annotated it
            events.add("unlabelled", "records", place)
            return ()
        if bioc.PASSAGES in record:
            return bioc.passage_texts(record, place, events)
        if _is_task(record):
            return self._of_label_studio(record, place, events)
        if MINIMAL in record:  # Label Studio's JSON-MIN: regions under any name, choices as texts
            regions = [
                item
                for value in record.values()
                if isinstance(value, list)
                for item in value
                if not isinstance(item, str)
            ]
            return [self._text(record, _regions(regions, place, events), place)]
        return self._plain(record, place, events)

    def _plain(self, record: JsonObject, place: Place, events: Events) -> list[Text]:
        """Return the text of a record with a list of spans; nothing if it was rejected."""
        if record.get("_view_id") == "ner":  # Prodigy's ner.teach
            raise unreadable(
                place,
                "the answer is on its spans alone and says nothing of the other words",
                "Complete the annotation with Prodigy's ner.silver-to-gold.",
            )
        if (answer := record.get("answer", "accept")) != "accept":
            events.add("rejected", str(answer), place)
            return []
        source = self._text(record, _spans(_span_list(record, place), place, events), place)
        unit = UTF16 if record.get(OFFSETS) == UTF16 else ""
        tokens, starts = record.get("tokens"), None
        if "ents" in record:  # of Doc.to_json
            starts = {sentence["start"] for sentence in record.get("sents") or ()} or None
            if tokens and tokens[-1]["end"] < len(str(source.text).rstrip()):
                events.add("retokenized", "texts", place)
                tokens = None
        return [source._replace(tokens=tokens, unit=unit, starts=starts)]

    def _text(
        self, record: JsonObject, spans: list[CharSpan], place: Place, any_key: bool = False
    ) -> Text:
        """Return the text of a record.

        record (JsonObject): The record.
        spans (List[CharSpan]): Its spans.
        place (Place): Its place, for messages.
        any_key (bool): Whether the only text of the record may have any key.
        """
        names = [name for name, value in record.items() if isinstance(value, str)]
        known = [name for name in ("text", "data", "content") if name in record]
        key = self.text_key or next(iter(known), "text")
        if key not in record and any_key and len(names) == 1 and not self.text_key:
            (key,) = names
        if key not in record:
            raise unreadable(
                place,
                f"it has no {key!r}, found the texts {', '.join(names) or 'none'}",
                "Name the key of the text with --text-key.",
            )
        return Text(place, record[key], spans, (), _about(record, key))

    def _of_label_studio(self, record: JsonObject, place: Place, events: Events) -> list[Text]:
        """Return the text of a task with each annotation that was not cancelled.

        If one is marked as ground truth, the others are skipped.
        """
        key = next(key for key in ANNOTATIONS if key in record)
        kept = [annotation for annotation in record[key] if not annotation.get("was_cancelled")]
        for _ in range(len(record[key]) - len(kept)):
            events.add("cancelled", "annotations", place)
        true = [annotation for annotation in kept if annotation.get("ground_truth")][:1]
        for _ in kept[1:] if true else ():
            events.add("further", "annotations", place)
        if not kept:
            events.add("unlabelled", "records", place)
        regions = (_regions(annotation["result"], place, events) for annotation in true or kept)
        return [self._text(record["data"], spans, place, any_key=True) for spans in regions]


def _is_task(record: JsonObject) -> bool:
    """Return whether a record is a task of Label Studio."""
    listed = next((record[key] for key in ANNOTATIONS if key in record), None)
    has_data = isinstance(record.get("data"), dict)
    items = listed if isinstance(listed, list) else []
    has_result = any("result" in item for item in items if isinstance(item, dict))
    return has_result or (has_data and listed is not None)


def _about(record: JsonObject, text_key: str = "") -> JsonObject:
    """Return the values of a record besides its text and annotation, with those of its metadata."""
    about = dict(record)
    for key in ("meta", "metadata"):
        if isinstance(record.get(key), dict):
            about |= record[key]
    return {k: v for k, v in about.items() if k not in (text_key, *NAMED) and not k.startswith("_")}


def _span_list(record: JsonObject, place: Place) -> Any:
    """Return the first list of spans in a record, if possible one that is not empty."""
    given = [record[key] for key in SPANS if record.get(key) is not None]
    if not given and "answer" not in record:  # an accepted record without spans has no entity
        raise unreadable(
            place, f"found none of {', '.join(SPANS)}", "Give every text its list of spans."
        )
    groups = next((items for items in given if isinstance(items, dict)), None)
    if groups is not None:  # doc.spans in what spaCy's Doc.to_json writes
        given = [items for items in given if items is not groups] + list(groups.values())
    filled = [items for items in given if isinstance(items, list) and items]
    return next(iter(filled or given), [])


def _spans(items: Any, place: Place, events: Events) -> list[CharSpan]:
    """Return the spans of a list of triples or objects, with the names that tools use."""
    if not isinstance(items, list):
        raise unreadable(place, f"found {str(items)[:60]!r} as the list of spans", SPAN_FIX)
    spans: list[CharSpan] = []
    for item in items:
        if isinstance(item, list):
            spans.append(CharSpan(place, None, *item))
            continue
        key = next((key for key in TYPE_KEYS if key in item), TYPE_KEYS[0])
        types = item[key]
        if key == "entity" and is_tag(str(types)):
            raise unreadable(
                place,
                f"found the tag {types!r} of a single token instead of a span",
                "In Hugging Face's pipeline, set aggregation_strategy to join tokens.",
            )
        labels = types if isinstance(types, list) else [types]
        if item.get("correct") is False:  # reviewed in LightTag
            for label in labels:
                events.add("rejected", str(label), place)
            continue
        if not labels:
            events.add("unreadable", "without a type", place)
        said = item.get("value" if "tag" in item else "text")  # LightTag's; Rasa's value may be another
        quote = said if isinstance(said, str) else None
        start, end = _bounds(item)
        spans += [CharSpan(place, quote, start, end, label) for label in labels]
    return spans


def _bounds(item: JsonObject) -> tuple[Any, Any]:
    """Return start and end of a span, in any of the forms that tools give them."""
    for start, end in BOUNDS:
        if start in item:
            return item[start], item.get(end)
    if "offset" in item:
        return item["offset"], item["offset"] + item["length"]
    return None, None


def _regions(regions: Iterable[JsonObject], place: Place, events: Events) -> list[CharSpan]:
    """Return the spans of an annotation of Label Studio; other regions are counted."""
    spans: list[CharSpan] = []
    for region in regions:
        value = region.get("value", {} if "from_id" in region else region)
        kind = str(region.get("type", "region"))
        try:
            spans += _spans([value], place, events)
        except OTHER_FORM:
            is_span = kind.endswith("labels") or "start" in value
            events.add("unreadable" if is_span else "ignored", kind, place)
    return spans
