"""JSON records of annotation tools: a text and its spans, or tokens with tags or spans.

Prodigy, Doccano, Label Studio, NER Annotator, spaCy 2, Hugging Face, GLiNER, and plain text with
entities.
"""

import json
import re
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ...errors import Errors, Warnings
from .columns import TAG
from .context import Context, Events, Settings, excerpt
from .offsets import OFFSETS, UTF16, fits, from_utf16, has_wide
from .spans import (
    CharSpan,
    annotate,
    check_span,
    check_text,
    given_tokens,
    mark_incorrect,
    read_label,
    tokenize,
)
from .tagged import TaggedToken, Tagger
from .text import Place, head_of, lines, read_text, unreadable

ARRAY = re.compile(r'\s*\[(?!\s*")')  # a pair on a line of its own begins with [ and a text
FIX = "Write one JSON object per line, or one array of objects."
KEYS = ("spans", "entities", "labels", "label", "annotations")  # the first that a record has
NAMED = ("id", "text", "data", "answer", OFFSETS, *KEYS)  # what user_data has no use for
TOKENIZED = "tokenized_text"  # of GLiNER's records
MINIMAL = "annotation_id"  # in Label Studio's JSON-MIN
SPAN_FIX = "A span is [start, end, type], or an object with start, end and label."
TOKENS_FIX = "Give every token a tag, or list spans as [first token, last token, type]."
TYPE_KEYS = ("label", "labels", "type", "entity_group")  # the first that a span has
TEXT_KINDS = ("labels", "hypertextlabels", "htmllabels")  # of Label Studio's regions, those of text
PAGE = re.compile(r"\s*<(\w+)[^>]*>.*</\w+>\s*", re.DOTALL)
OF_TEXTS, OF_TOKENS = ("text_key", "decisions", "offsets"), ("scheme", "columns", "tag_names")

JsonObject = dict[str, Any]


class _Found(NamedTuple):
    start: Any  # as the file has them
    end: Any
    label: Any
    quote: str | None = None


class _Text(NamedTuple):
    """A text and its spans, whatever the tool."""

    text: Any
    spans: list[_Found]
    about: JsonObject  # what else is known of the text
    tokens: Any = None
    decision: str = ""  # "accept" or "reject", on the spans alone


def read_records(path: Path, encoding: str) -> Iterator[tuple[Place, JsonObject]]:
    """Each record and where it stands: of lines, or of an array, which is read whole.

    A pair of a text and an object, which spaCy 2 was trained on, becomes an object with a 'text'. An
    object whose 'annotations' are such pairs, as NER Annotator writes for a whole file, becomes each
    of them; one of null, which nobody annotated, becomes an object without anything.
    """
    for place, record in _parsed(path, encoding):
        pairs = record.get("annotations") if isinstance(record, dict) else None
        if isinstance(pairs, list) and any(map(_is_pair, pairs)):
            for i, pair in enumerate(pairs, 1):
                own = place._replace(record=i)
                yield own, {} if pair is None else _object(pair, own)
        else:
            yield place, _object(record, place)


def _parsed(path: Path, encoding: str) -> Iterator[tuple[Place, Any]]:
    if ARRAY.match(head_of(path, encoding)):
        records = _loaded(read_text(path, encoding), Place(path, 1))
        yield from ((Place(path, 0, i), record) for i, record in enumerate(records, 1))
        return
    for i, line in enumerate(lines(path, encoding), 1):
        if line.strip():
            yield Place(path, i), _loaded(line, Place(path, i))


def _loaded(text: str, place: Place) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = place._replace(line=place.line + getattr(error, "lineno", 1) - 1)
        raise unreadable(place, error, FIX) from error


def _is_pair(found: Any) -> bool:
    return isinstance(found, list) and [type(part) for part in found] == [str, dict]


def _object(record: Any, place: Place) -> JsonObject:
    if _is_pair(record):
        return {**record[1], "text": record[0]}
    if not isinstance(record, dict):
        raise unreadable(place, f"found {str(record)[:60]!r} instead of an object", FIX)
    return record


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per record that was accepted. Plain values beside the text go to its user_data.

    context (Context): Tokenizer, settings, and events, which count what is skipped or misaligned.
    """
    events, settings = context.events, context.settings
    tagger, utf16 = Tagger(context), _counts_utf16(path, settings)
    kinds = set()  # of the records: whether they have tokens
    for place, record in read_records(path, settings.encoding):
        kinds.add(_is_tokenized(record, settings))
        if _is_tokenized(record, settings):
            doc = _doc_of_tokens(record, place, context, tagger)
            if len(doc):
                yield _with_values(doc, record, place)
            else:
                events.add("empty", "records", place)
            continue
        for own in _texts(record, place, settings, events):
            text = check_text(own.text, place)
            if not text.strip():
                events.add("empty", "records", place)
                continue
            spans = _in_characters(text, own.spans, place, events) if utf16 else own.spans
            yield _doc(own._replace(text=text, spans=spans), place, context)
    if not kinds:
        raise ValueError(Errors.L403.format(path=path, fix=FIX))
    ignored = [] if len(kinds) > 1 else OF_TEXTS if kinds == {True} else OF_TOKENS
    for name in ignored:
        if getattr(settings, name) != getattr(Settings, name):
            problem = f"the records of {path} have {'tokens' if kinds == {True} else 'texts'} alone"
            raise ValueError(Errors.L420.format(name=name.replace("_", "-"), problem=problem))


# --- what offsets count


def _counts_utf16(path: Path, settings: Settings) -> bool:
    """Whether the offsets of a file count UTF-16 units: its spans fit better so.

    What is looked at are the spans behind characters above U+FFFF. Before them both are the same.
    Where both fit as well, records that `mine` wrote say which it is.
    """
    if settings.offsets or not has_wide(path, settings.encoding):
        return settings.offsets == UTF16
    n_spans = n_fit = n_fit_as_utf16 = n_said = 0
    silent = Events()
    for place, record in read_records(path, settings.encoding):
        if _is_tokenized(record, settings):
            continue
        n_said += record.get(OFFSETS) == UTF16
        for own in _texts(record, place, settings, silent):
            text = check_text(own.text, place)
            moved = _in_characters(text, own.spans, place, silent)
            for span, other in zip(own.spans, moved, strict=True):
                if span != other:
                    n_spans += 1
                    n_fit += fits(text, span.start, span.end, span.quote)
                    n_fit_as_utf16 += fits(text, other.start, other.end, other.quote)
    if n_spans and n_fit == n_fit_as_utf16 and not n_said:
        problem = (
            f"nothing tells whether the offsets of {n_spans} spans behind characters above U+FFFF "
            "count characters or UTF-16 units. They are read as characters. Name the unit with "
            "--offsets characters or --offsets utf-16"
        )
        warnings.warn(Warnings.W030.format(path=path, problem=problem), stacklevel=2)
        return False
    return n_fit_as_utf16 >= n_fit and bool(n_spans)


def _in_characters(text: str, spans: list[_Found], place: Place, events: Events) -> list[_Found]:
    """Spans whose offsets count UTF-16 units, in characters. What lies outside the text stays."""
    table, moved = from_utf16(text), []
    for span in spans:
        a, b = span.start, span.end
        if type(a) is int and type(b) is int and 0 <= a <= b < len(table):
            first, last = table[a], table[b]
            if (first, last) != (a, b):
                detail = f"{span.label} in {excerpt(text, first, last)}"
                events.add("utf16", str(span.label), place, detail)
            span = span._replace(start=first, end=last)
        moved.append(span)
    return moved


# --- documents


def _doc(own: _Text, place: Place, context: Context) -> Doc:
    events, settings = context.events, context.settings
    mentions = [check_span(own.text, s.start, s.end, s.label, place, events, s.quote) for s in own.spans]
    if own.tokens is None or settings.tokens == "characters":
        doc = tokenize(context.nlp, own.text, place)
    else:
        doc = given_tokens(context.nlp, own.text, own.tokens, place)
    _with_values(doc, own.about, place)
    if own.decision == "reject":
        return mark_incorrect(doc, mentions, events)
    others: Any = "missing" if own.decision else "outside"
    return annotate(doc, mentions, settings.misaligned, events, others=others)


def _with_values(doc: Doc, about: JsonObject, place: Place) -> Doc:
    """Keep what can name a group of texts: words and whole numbers."""
    for name, value in about.items():
        if name in NAMED or name.startswith("_"):
            continue
        is_text = isinstance(value, str) and bool(check_text(value, place))
        if is_text or (type(value) is int and abs(value) < 2**63):
            doc.user_data[check_text(name, place)] = value
    return doc


def _is_tokenized(record: JsonObject, settings: Settings) -> bool:
    """Whether a record has tokens, and tags or spans of them."""
    return TOKENIZED in record or (settings.columns.tag or TAG) in record


def _doc_of_tokens(record: JsonObject, place: Place, context: Context, tagger: Tagger) -> Doc:
    """The tokens are as given. Spacing and sentences are unknown."""
    settings = context.settings
    key = TOKENIZED if TOKENIZED in record else settings.columns.token or "tokens"
    words, tags = record.get(key), record.get(settings.columns.tag or TAG)
    if not isinstance(words, list):
        raise unreadable(place, f"found {str(words)[:60]!r} as {key}", "Write a list of words.")
    if settings.tokens == "characters":
        fix = "Leave --tokens characters out, or give it texts."
        raise unreadable(place, "it has tokens of its own", fix)
    words = [check_text(word, place) for word in words]
    if key != TOKENIZED:
        tags = _tag_texts(tags, len(words), place, settings.tag_names)
        words, tags = tagger([TaggedToken(place, *pair) for pair in zip(words, tags, strict=True)])
        return Doc(context.nlp.vocab, words=words, ents=tags)
    spans = record.get("ner")
    if not isinstance(spans, list):
        raise unreadable(place, f"found {str(spans)[:60]!r} as ner", TOKENS_FIX)
    if not words:
        return Doc(context.nlp.vocab)
    doc = Doc(context.nlp.vocab, words=_whole_words(words, place, context))
    mentions = []
    for span in spans:
        first, last, label = span if isinstance(span, list) and len(span) == 3 else (None,) * 3
        if not (type(first) is int and type(last) is int and 0 <= first <= last < len(doc)):
            problem = f"span {str(span)[:60]} is not of the {len(doc)} tokens"
            raise unreadable(place, problem, TOKENS_FIX)
        own = doc[first : last + 1]
        mentions.append(CharSpan(own.start_char, own.end_char, read_label(label, place), place))
    return annotate(doc, mentions, None, context.events)


def _whole_words(words: list[str], place: Place, context: Context) -> list[str]:
    """The words that spans count in, of which none may be left out."""
    if not all(word.strip() for word in words):
        problem = "expected a token, found white space alone"
        raise unreadable(place, problem, "Remove the token.")
    return Tagger(context)([TaggedToken(place, word, "O") for word in words])[0]


def _tag_texts(tags: Any, n_words: int, place: Place, names: tuple[str, ...] | None) -> list[str]:
    """The tags of a record as texts."""
    if not isinstance(tags, list) or len(tags) != n_words:
        problem = f"found {str(tags)[:60]!r} as the tags of {n_words} tokens"
        raise unreadable(place, problem, TOKENS_FIX)
    if not tags or {type(tag) for tag in tags} == {str}:
        if names:
            raise unreadable(place, "its tags are texts", "Leave --tag-names out.")
        return [check_text(tag, place).strip() for tag in tags]
    known = range(len(names or ()))
    if not all(type(tag) is int and tag in known for tag in tags):
        numbers = f"or a number from 0 to {len(known) - 1}" if names else "and no --tag-names are given"
        problem = f"not each of its tags is a text, {numbers}"
        fix = "Name what numbers stand for, in order: --tag-names O,B-PER,I-PER, or a file."
        raise unreadable(place, problem, fix)
    return [(names or ())[tag] for tag in tags]


# --- what each tool calls the text and its spans


def _texts(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[_Text]:
    """The texts of a record, read as by its tool. No key alone tells which that is."""
    annotations = record.get("annotations")
    listed = annotations if isinstance(annotations, list) else []
    if not record:  # what nobody annotated
        events.add("unlabelled", "records", place)
        return []
    if any(isinstance(own, dict) and "result" in own for own in listed) or (
        "annotations" in record and isinstance(record.get("data"), dict)
    ):
        return _exported(record, place, settings, events)
    if MINIMAL in record:
        problem = "this is Label Studio's JSON-MIN, which has no name for its regions"
        raise unreadable(place, problem, "In Label Studio, export JSON.")
    return _plain(record, place, settings, events)


def _plain(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[_Text]:
    """A record with its spans beside the text."""
    decisions = settings.decisions
    if decisions and "answer" not in record:
        raise unreadable(place, "it has no answer", "Leave --decisions out.")
    answer = record.get("answer", "accept")
    if answer != "accept" and not (decisions and answer == "reject"):
        events.add("rejected", str(answer), place)
        return []
    given = [key for key in KEYS if record.get(key) is not None]
    filled = [key for key in given if isinstance(record[key], list) and record[key]]
    key = next(iter(filled or given), None)
    if key is None and "answer" not in record:  # an accepted record without spans has no entity
        problem = f"found none of {', '.join(KEYS)}"
        raise unreadable(place, problem, "Give every text its list of spans.")
    text, about = _text(record, place, settings)
    if isinstance(record.get("meta"), dict):
        about |= record["meta"]
    spans = _spans(record[key] if key else [], place, events)
    if decisions and not spans:
        events.add("unlabelled", "records", place)
        return []
    return [_Text(text, spans, about, record.get("tokens"), str(answer) if decisions else "")]


def _text(record: JsonObject, place: Place, settings: Settings) -> tuple[Any, JsonObject]:
    """The text of a record, and its other values."""
    usual = "data" if "data" in record and "text" not in record else "text"
    key = settings.text_key or usual
    if key not in record:
        found = ", ".join(name for name, value in record.items() if isinstance(value, str))
        problem = f"it has no {key!r}, found the texts {found or 'none'}"
        raise unreadable(place, problem, "Name the key of the text with --text-key.")
    return record[key], {name: value for name, value in record.items() if name != key}


def _exported(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[_Text]:
    """A task of Label Studio: the first annotation that was not cancelled; each, if asked for."""
    data, annotations = record.get("data"), record["annotations"]
    if not isinstance(data, dict) or not isinstance(annotations, list):
        raise unreadable(place, "it has no data and list of annotations", "Export it as JSON.")
    kept: list[list[Any]] = []
    for annotation in annotations:
        result = annotation.get("result") if isinstance(annotation, dict) else None
        if not isinstance(result, list):
            problem = f"found annotation {str(annotation)[:60]!r}"
            raise unreadable(place, problem, "Export it as JSON.")
        if annotation.get("was_cancelled"):
            events.add("cancelled", "annotations", place)
        elif kept and not settings.every_annotation:
            events.add("further", "annotations", place)
        else:
            kept.append(result)
    texts = [name for name, value in data.items() if isinstance(value, str)]
    if "text" not in data and "data" not in data and not settings.text_key and len(texts) == 1:
        data = {"text" if name == texts[0] else name: value for name, value in data.items()}
    text, about = _text(data, place, settings)
    if not kept:
        events.add("unlabelled", "records", place)
    own = []
    for result in kept:
        known = [region if isinstance(region, dict) else {} for region in result]
        regions = [(str(region.get("type")), region.get("value")) for region in known]
        own.append(_of_regions(text, regions, about, place, events))
    return own


def _of_regions(
    text: Any, regions: list[tuple[str, Any]], about: JsonObject, place: Place, events: Events
) -> _Text:
    """A text of Label Studio with the regions of one annotation, each a kind and what it is.

    Regions of HTML begin at an XPath. Their globalOffsets count in the text that a browser shows.
    """
    spans, has_paths = [], False
    for kind, value in regions:
        value = value if isinstance(value, dict) else {}
        types, at = value.get(kind, value.get("labels")) or [], value
        if isinstance(value.get("start"), str):
            has_paths, at = True, value.get("globalOffsets")
        if kind in TEXT_KINDS and types and isinstance(at, dict) and at:
            span = {"start": at.get("start"), "end": at.get("end"), "labels": types}
            spans.append({**span, "text": value.get("text")})
        else:
            is_span = kind.endswith("labels") or "start" in value
            what = f"{kind} without globalOffsets" if types and kind in TEXT_KINDS else kind
            events.add("unreadable" if is_span else "ignored", what, place)
    if isinstance(text, str) and (has_paths or (not regions and PAGE.fullmatch(text))):
        events.add("html", "records", place)
        text = _Page(text).text
    return _Text(text, _spans(spans, place, events), about)


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


def _spans(items: Any, place: Place, events: Events) -> list[_Found]:
    """Spans as triples or as objects, in the words of each tool."""
    if not isinstance(items, list):
        raise unreadable(place, f"found {str(items)[:60]!r} as the list of spans", SPAN_FIX)
    found: list[_Found] = []
    for item in items:
        if isinstance(item, list) and len(item) == 3:
            found.append(_Found(*item))
            continue
        keys = item if isinstance(item, dict) else {}
        key = next((key for key in TYPE_KEYS if key in keys), "")
        if not key or not ("start" in keys or "start_offset" in keys):
            raise unreadable(place, f"found {str(item)[:60]!r} as a span", SPAN_FIX)
        start = item.get("start", item.get("start_offset"))
        end = item.get("end", item.get("end_offset"))
        quote = item["text"] if isinstance(item.get("text"), str) else None
        labels = item[key] if isinstance(item[key], list) else [item[key]]
        if not labels:
            events.add("unreadable", "without a type", place)
        found.extend(_Found(start, end, label, quote) for label in labels)
    return found
