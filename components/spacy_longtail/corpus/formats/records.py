"""JSON records of a text and its spans: Prodigy, Doccano, Label Studio, spaCy 2, and plain text with
entities; or of tokens, which `token_records` reads."""

import re
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal, NamedTuple, TypeGuard

from spacy.tokens import Doc

from ...errors import Errors, Warnings
from .context import Context, Events, Place, excerpt
from .json_stream import FIX, no_record, read_records
from .offsets import OFFSETS, UTF16, fits, from_utf16, has_wide
from .spans import annotate, check_span, mark_incorrect
from .tagged import Tagger
from .token_records import is_tokenized, read_tokens, refuse_ignored
from .tokens import check_text, given_tokens, tokenize

KEYS = ("spans", "entities", "labels", "label", "annotations")  # the first that a record has
NAMED = ("id", "text", "data", "answer", OFFSETS, *KEYS)  # what user_data has no use for
MINIMAL = "annotation_id"  # in Label Studio's JSON-MIN
# what Label Studio says of an annotation, not of a text
CLERICAL = (MINIMAL, "annotator", "created_at", "updated_at", "lead_time", "agreement")
SPAN_FIX = "A span is [start, end, type], or an object with start, end and label."
TYPE_KEYS = ("label", "labels", "type", "entity_group")  # the first that a span has
TEXT_KINDS = ("labels", "hypertextlabels", "htmllabels")  # of Label Studio's regions, those of text
UNTYPED_KINDS = ("text", "hypertext")  # of regions that nobody gave a type
UNTYPED = "without a type"
PAGE = re.compile(r"\s*<(\w+)[^>]*>.*</\w+>\s*", re.DOTALL)


class _Span(NamedTuple):
    start: object
    end: object
    label: object
    quote: str | None = None


class _Task(NamedTuple):
    text: object
    spans: list[_Span]
    about: dict[str, object]  # what else is known of the text
    tokens: object = None
    decision: str = ""  # "accept" or "reject", on the spans alone


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per record that was accepted. Plain values beside the text go to its user_data.

    context (Context): Tokenizer, settings, and events, which count what is skipped or does not align.
    """
    n_records = n_tokenized = 0
    tagger, utf16 = Tagger(path, context), _counts_utf16(path, context)
    for place, record in read_records(path, context.settings.encoding):
        n_records += 1
        doc = read_tokens(record, place, context, tagger)
        if doc is not None:
            n_tokenized += 1
            if len(doc):
                _keep_about(doc, record, place)
                yield doc
            continue
        for task in _tasks(record, place, context):
            text = check_text(task.text, place)
            if text.strip():
                spans = _in_characters(text, task.spans, place, context.events) if utf16 else task.spans
                yield _doc(text, task._replace(spans=spans), place, context)
            else:
                context.events.add("empty", "records", place)
    if not n_records:
        raise ValueError(Errors.L403.format(path=path, fix=FIX))
    if not n_tokenized or n_tokenized == n_records:
        refuse_ignored(context.settings, bool(n_tokenized))


def _tasks(record: dict[str, object], place: Place, context: Context) -> list[_Task]:
    """The texts of a record, read as by its tool. No key alone tells which that is."""
    annotations = record.get("annotations")
    results = [a for a in annotations if _has_result(a)] if isinstance(annotations, list) else []
    if not record:  # what nobody annotated
        context.events.add("unlabelled", "records", place)
        return []
    if results or ("annotations" in record and isinstance(record.get("data"), dict)):
        return _exported(record, place, context)
    own = [record[key] for key in KEYS if isinstance(record.get(key), list) and record[key]]
    is_minimal = MINIMAL in record and all(map(_are_regions, own))
    return (_minimal if is_minimal else _own)(record, place, context)


def _has_result(annotation: object) -> bool:
    return isinstance(annotation, dict) and "result" in annotation


def _counts_utf16(path: Path, context: Context) -> bool:
    """Whether the offsets of a file count UTF-16 units: its spans fit better so.

    What is looked at are the spans behind characters above U+FFFF. Before them both are the same. Where
    both fit as well, records that `mine` wrote say which it is.
    """
    settings = context.settings
    if settings.offsets or not has_wide(path, settings.encoding):
        return settings.offsets == UTF16
    n_spans = n_fit = n_fit_as_utf16 = n_said = 0
    silent = context._replace(events=Events())
    for place, record in read_records(path, settings.encoding):
        tasks = [] if is_tokenized(record, settings) else _tasks(record, place, silent)
        n_said += record.get(OFFSETS) == UTF16
        for task in tasks:
            text = check_text(task.text, place)
            moved = _in_characters(text, task.spans, place, silent.events)
            for span, other in zip(task.spans, moved, strict=True):
                if span != other:
                    n_spans += 1
                    n_fit += fits(text, span.start, span.end, span.quote)
                    n_fit_as_utf16 += fits(text, other.start, other.end, other.quote)
    if n_fit != n_fit_as_utf16 or n_said:
        return n_fit_as_utf16 >= n_fit
    if n_spans:
        warnings.warn(Warnings.W700.format(path=path, n=n_spans), stacklevel=2)
    return False


def _in_characters(text: str, spans: list[_Span], place: Place, events: Events) -> list[_Span]:
    """Spans whose offsets count UTF-16 units, in characters. What lies outside the text stays."""
    table = from_utf16(text)
    moved = []
    for span in spans:
        start, end = span.start, span.end
        if type(start) is int and type(end) is int and 0 <= start <= end < len(table):
            first, last = table[start], table[end]
            if (first, last) != (start, end):
                events.add(
                    "utf16", str(span.label), place, f"{span.label} in {excerpt(text, first, last)}"
                )
            span = span._replace(start=first, end=last)
        moved.append(span)
    return moved


def _doc(text: str, task: _Task, place: Place, context: Context) -> Doc:
    events = context.events
    mentions = [check_span(text, s.start, s.end, s.label, place, events, s.quote) for s in task.spans]
    if task.tokens is None or context.settings.tokens == "characters":
        doc = tokenize(context.nlp, text, place)
    else:
        doc = given_tokens(context.nlp, text, task.tokens, place)
    _keep_about(doc, task.about, place)
    if task.decision == "reject":
        return mark_incorrect(doc, mentions, events)
    others: Literal["missing", "outside"] = "missing" if task.decision else "outside"
    return annotate(doc, mentions, context.settings.misaligned, events, others=others)


def _keep_about(doc: Doc, about: dict[str, object], place: Place) -> None:
    for name, value in about.items():
        if name not in NAMED and name[:1] != "_" and _is_plain(value, place):
            doc.user_data[check_text(name, place)] = value


def _is_plain(value: object, place: Place) -> bool:
    """Whether a value can name a group of texts."""
    if isinstance(value, str):
        return bool(check_text(value, place))
    return type(value) is int and abs(value) < 2**63


def _own(record: dict[str, object], place: Place, context: Context) -> list[_Task]:
    """A record with its spans beside the text."""
    decisions = context.settings.decisions
    if decisions and "answer" not in record:
        raise no_record(place, "it has no answer", "Leave --decisions out.")
    answer = record.get("answer", "accept")
    if answer != "accept" and not (decisions and answer == "reject"):
        context.events.add("rejected", str(answer), place)
        return []
    given = [k for k in KEYS if record.get(k) is not None]
    filled = (k for k in given if isinstance(record[k], list) and record[k])
    key = next(filled, given[0] if given else None)
    if key is None and "answer" not in record:  # an accepted record without spans has no entity
        raise no_record(place, f"found none of {', '.join(KEYS)}", "Give every text its list of spans.")
    wanted = context.settings.text_key
    text = _text(record, wanted or _usual(record), place)
    meta = record.get("meta")
    about = _without(record, wanted) | (meta if isinstance(meta, dict) else {})
    spans = _spans(record[key] if key else [], place, context.events)
    if decisions and not spans:
        context.events.add("unlabelled", "records", place)
        return []
    return [_Task(text, spans, about, record.get("tokens"), str(answer) if decisions else "")]


def _minimal(record: dict[str, object], place: Place, context: Context) -> list[_Task]:
    """A record of Label Studio's JSON-MIN: the regions stand under the name of each control.

    It has a record per annotation, and none for texts without: no regions mean no entity.
    """
    wanted = context.settings.text_key
    regions: list[tuple[str, object]] = [
        (_kind(item), item) for value in record.values() if _are_regions(value) for item in value
    ]
    text = _text(record, wanted or _usual(record), place)
    about = {name: value for name, value in _without(record, wanted).items() if name not in CLERICAL}
    return [_annotation(text, regions, about, place, context.events)]


def _kind(region: dict[str, object]) -> str:
    return next((key for key in region if key.endswith("labels")), "")


def _are_regions(value: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(value, list) and all(
        isinstance(item, dict) and "start" in item and _kind(item) for item in value
    )


def _usual(record: dict[str, object]) -> str:
    """The key of the text where none is named."""
    return "data" if "data" in record and "text" not in record else "text"


def _text(record: dict[str, object], key: str, place: Place) -> object:
    if key not in record:
        found = ", ".join(name for name, value in record.items() if isinstance(value, str))
        problem = f"it has no {key!r}, found the texts {found or 'none'}"
        raise no_record(place, problem, "Name the key of the text with --text-key.")
    return record[key]


def _without(record: dict[str, object], key: str | None) -> dict[str, object]:
    return {name: value for name, value in record.items() if name != key}


def _exported(record: dict[str, object], place: Place, context: Context) -> list[_Task]:
    """A task of Label Studio: the first annotation that was not cancelled; each, if the settings ask."""
    events, wanted = context.events, context.settings.text_key
    data, annotations = record.get("data"), record["annotations"]
    if not isinstance(data, dict) or not isinstance(annotations, list):
        raise no_record(place, "a task needs data and a list of annotations", "Export it as JSON.")
    texts = {k: v for k, v in data.items() if isinstance(v, str)}
    if not wanted and "text" not in texts and len(texts) != 1:
        fix = "Name the key of the annotated text with --text-key."
        raise no_record(place, f"found the texts {', '.join(texts) or 'none'} in data", fix)
    kept: list[list[object]] = []
    for annotation in annotations:
        result = annotation.get("result") if isinstance(annotation, dict) else None
        if not isinstance(result, list):
            raise no_record(place, f"found annotation {str(annotation)[:60]!r}", "Export it as JSON.")
        if annotation.get("was_cancelled"):
            events.add("cancelled", "annotations", place)
        elif kept and not context.settings.every_annotation:
            events.add("further", "annotations", place)
        else:
            kept.append(result)
    if not kept:
        events.add("unlabelled", "records", place)
        return []
    key = wanted or ("text" if "text" in texts else next(iter(texts)))
    text, about = _text(data, key, place), _without(data, key)
    tasks = []
    for result in kept:
        known = [region if isinstance(region, dict) else {} for region in result]
        regions = [(str(region.get("type")), region.get("value")) for region in known]
        tasks.append(_annotation(text, regions, about, place, events))
    return tasks


def _annotation(
    text: object,
    regions: list[tuple[str, object]],
    about: dict[str, object],
    place: Place,
    events: Events,
) -> _Task:
    """A text of Label Studio with the regions of one annotation, each a kind and what it is.

    Regions of HTML begin at an XPath. Their globalOffsets count in the text that a browser shows.
    """
    spans, is_page = [], not regions and isinstance(text, str) and PAGE.fullmatch(text) is not None
    for kind, value in regions:
        if not (isinstance(value, dict) and kind in (*TEXT_KINDS, *UNTYPED_KINDS)):
            events.add("unreadable" if kind.endswith("labels") else "ignored", kind, place)
            continue
        types = value.get(kind, value.get("labels")) or []
        at, offsets = value, value.get("globalOffsets")
        if isinstance(value.get("start"), str):
            is_page, at = True, offsets if isinstance(offsets, dict) else {}
        if kind in UNTYPED_KINDS or not types:
            events.add("unreadable" if "start" in value else "ignored", UNTYPED, place)
        elif not at:
            events.add("unreadable", f"{kind} without globalOffsets", place)
        else:
            span = {"start": at.get("start"), "end": at.get("end"), "labels": types}
            spans.append({**span, "text": value.get("text")})
    if is_page and isinstance(text, str):
        events.add("html", "records", place)
        text = _Page(text).text
    return _Task(text, _spans(spans, place, events), about)


class _Page(HTMLParser):
    """The text of HTML as Label Studio counts it: all that stands in it, a <br> as one character."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.text += "\n" * (tag == "br")


def _spans(items: object, place: Place, events: Events) -> list[_Span]:
    """Spans as triples or as objects, in the words of each tool."""
    if not isinstance(items, list):
        raise no_record(place, f"found {str(items)[:60]!r} as the list of spans", SPAN_FIX)
    found: list[_Span] = []
    for item in items:
        if isinstance(item, list) and len(item) == 3:
            found.append(_Span(*item))
        elif isinstance(item, dict) and ("start" in item or "start_offset" in item):
            start = item.get("start", item.get("start_offset"))
            end = item.get("end", item.get("end_offset"))
            quote = item["text"] if isinstance(item.get("text"), str) else None
            key = next((key for key in TYPE_KEYS if key in item), None)
            if key is None:
                problem = f"found a span with {', '.join(map(str, item))} and no type"
                raise no_record(place, problem, "Name the type of each span 'label'.")
            labels = item[key] if isinstance(item[key], list) else [item[key]]
            if not labels:
                events.add("unreadable", UNTYPED, place)
            found.extend(_Span(start, end, label, quote) for label in labels)
        else:
            raise no_record(place, f"found {str(item)[:60]!r} as a span", SPAN_FIX)
    return found
