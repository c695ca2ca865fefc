"""JSON records of a text and its spans: Prodigy, Doccano, Label Studio, spaCy 2, and plain text with
entities; or of tokens, which `token_records` reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeGuard

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Events, Place
from .json_stream import FIX, no_record, read_records
from .spans import annotate, check_span, mark_incorrect
from .tagged import Tagger
from .token_records import read_tokens, refuse_ignored
from .tokens import check_text, given_tokens, tokenize

KEYS = ("spans", "entities", "labels", "label")  # the first that a record has
NAMED = ("id", "text", "data", "answer", *KEYS)  # what user_data has no use for
MINIMAL = "annotation_id"  # in Label Studio's JSON-MIN
# what Label Studio says of an annotation, not of a text
CLERICAL = (MINIMAL, "annotator", "created_at", "updated_at", "lead_time", "agreement")
SPAN_FIX = "A span is [start, end, type], or an object with start, end and label."


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
    RAISES (ValueError): L402, L403, L580, L584, and with the line L401, L423 to L427, L582.
    """
    n_records = n_tokenized = 0
    tagger = Tagger(path, context)
    for place, record in read_records(path, context.settings.encoding):
        n_records += 1
        doc = read_tokens(record, place, context, tagger)
        if doc is not None:
            n_tokenized += 1
            if len(doc):
                _keep_about(doc, record, place)
                yield doc
            continue
        read = _exported if "annotations" in record else _minimal if MINIMAL in record else _own
        for task in read(record, place, context):
            text = check_text(task.text, place)
            if text.strip():
                yield _doc(text, task, place, context)
            else:
                context.events.add("empty", "records", place)
    if not n_records:
        raise ValueError(Errors.L403.format(path=path, fix=FIX))
    if not n_tokenized or n_tokenized == n_records:
        refuse_ignored(context.settings, bool(n_tokenized))


def says_what_is_done(path: Path, encoding: str) -> bool:
    """Whether each record of a file tells that somebody has decided on it, or that nobody has."""
    signs = {"answer", "annotations", MINIMAL}
    return all(not signs.isdisjoint(record) for _, record in read_records(path, encoding))


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
    regions = [item for value in record.values() if _are_regions(value) for item in value]
    text = _text(record, wanted or _usual(record), place)
    about = {name: value for name, value in _without(record, wanted).items() if name not in CLERICAL}
    return [_Task(text, _spans(regions, place, context.events), about)]


def _are_regions(value: object) -> TypeGuard[list[dict[str, object]]]:
    return isinstance(value, list) and all(
        isinstance(item, dict) and {"start", "labels"} <= item.keys() for item in value
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
    return [_Task(text, _regions(result, place, events), about) for result in kept]


def _regions(result: list[object], place: Place, events: Events) -> list[_Span]:
    """The spans of an annotation of Label Studio."""
    values = []
    for region in result:
        known = region if isinstance(region, dict) else {}
        kind, value = known.get("type"), known.get("value")
        if kind == "labels" and isinstance(value, dict):
            values.append(value)
        else:
            events.add("ignored", str(kind), place)
    return _spans(values, place, events)


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
            labels = [item["label"]] if "label" in item else item.get("labels")
            if not isinstance(labels, list) or not labels:
                events.add("ignored", "without a type", place)
                continue
            found.extend(_Span(start, end, label, quote) for label in labels)
        else:
            raise no_record(place, f"found {str(item)[:60]!r} as a span", SPAN_FIX)
    return found
