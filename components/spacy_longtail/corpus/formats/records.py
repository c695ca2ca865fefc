"""JSON records of annotation tools: a text and its spans, or tokens with tags or spans.

Prodigy, Doccano, Label Studio, NER Annotator, spaCy 2, Hugging Face, GLiNER, and plain text with
entities.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from .context import CHARACTERS, UTF16, Context, Events, Settings, excerpt
from .spans import CharSpan, Text, annotate, check_text, keep_values, read_label, same_text, text_doc
from .tags import TaggedToken, read_tags
from .text import Place, head_of, lines, read_text, unreadable

ARRAY = re.compile(r'\s*\[(?!\s*")')  # a pair on a line of its own begins with [ and a text
FIX = "Write one JSON object per line, or one array of objects."
SPANS = ("spans", "entities", "labels", "label", "annotations")  # the first that a record has
TAG = "ner_tags"  # as records on the Hugging Face hub usually call it
TOKENIZED = "tokenized_text"  # of GLiNER's records
MINIMAL = "annotation_id"  # in Label Studio's JSON-MIN
OFFSETS = "offsets"  # what a record says that its own count
NAMED = ("id", "text", "data", "answer", OFFSETS, *SPANS)  # what user_data has no use for
SPAN_FIX = "A span is [start, end, type], or an object with start, end and label."
TOKENS_FIX = "Give every token a tag, or list spans as [first token, last token, type]."
TYPE_KEYS = ("label", "labels", "type", "entity_group")
EDGE = re.compile(r"(?<!\w)|(?!\w)")  # where a word may begin or end
OTHER_FORM = (TypeError, KeyError, IndexError, AttributeError)  # where a record is read as by its tool

JsonObject = dict[str, Any]


def read_docs(path: Path, context: Context) -> Iterator[Doc]:
    """One document per record that was accepted. Plain values beside the text go to its user_data.

    context (Context): Tokenizer, settings, and events, which count what is skipped or misaligned.
    """
    settings, events = context.settings, context.events
    for place, record in read_records(path, settings.encoding):
        if TOKENIZED in record or (settings.columns.tag or TAG) in record:
            if doc := _doc_of_tokens(record, place, context):
                keep_values(doc, _about(record), place)
                yield doc
            else:
                events.add("empty", "texts", place)
            continue
        for text in _texts(record, place, settings, events):
            if doc := text_doc(_in_characters(text, settings, events), context):
                yield doc


def read_records(path: Path, encoding: str) -> Iterator[tuple[Place, JsonObject]]:
    """Each record and where it stands: of lines, or of an array, which is read whole.

    A pair of a text and an object, which spaCy 2 was trained on, becomes an object with a 'text'.
    An object whose 'annotations' are such pairs, as NER Annotator writes for a whole file, becomes
    each of them. One of null, which nobody annotated, becomes an object without anything.
    """
    rows: Iterator[tuple[Place, Any]]
    if ARRAY.match(head_of(path, encoding)):
        records = _loaded(read_text(path, encoding), Place(path, 1))
        rows = ((Place(path, 0, i), record) for i, record in enumerate(records, 1))
    else:
        places = ((Place(path, i), line) for i, line in enumerate(lines(path, encoding), 1))
        rows = ((place, _loaded(line, place)) for place, line in places if line.strip())
    for place, record in rows:
        pairs = record.get("annotations") if isinstance(record, dict) else None
        if isinstance(pairs, list) and any(map(_is_pair, pairs)):
            for i, pair in enumerate(pairs, 1):
                at = place._replace(record=i)
                yield at, _object({} if pair is None else pair, at)
        else:
            yield place, _object(record, place)


def _is_pair(record: Any) -> bool:
    return isinstance(record, list) and [type(part) for part in record] == [str, dict]


def _object(record: Any, place: Place) -> JsonObject:
    if _is_pair(record):
        return {**record[1], "text": record[0]}
    if not isinstance(record, dict):
        raise unreadable(place, f"found {str(record)[:60]!r} instead of an object", FIX)
    return record


def _loaded(text: str, place: Place) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = place._replace(line=place.line + getattr(error, "lineno", 1) - 1)
        raise unreadable(place, error, FIX) from error


def _about(record: JsonObject, text_key: str = "") -> JsonObject:
    """What else than the text and its annotation is known, in `meta` too."""
    meta = record.get("meta")
    about = {**record, **(meta if isinstance(meta, dict) else {})}
    return {k: v for k, v in about.items() if k not in (text_key, *NAMED) and not k.startswith("_")}


# --- what offsets count


def _in_characters(source: Text, settings: Settings, events: Events) -> Text:
    """A text with offsets in characters, where they count UTF-16 units, as JavaScript does.

    They differ behind characters above U+FFFF, such as emoji, of which each is two units. The spans
    there tell which it is, if they fit better so, or else what `mine` wrote beside the text.
    """
    text = check_text(source.text, source.place)
    at = [i for i, c in enumerate(text) for _ in range(1 + (c > "\uffff"))] + [len(text)]
    spans, moved = source.spans, list(source.spans)
    for i, (_, _, a, b, _) in enumerate(spans):
        if type(a) is int and type(b) is int and 0 <= a <= b < len(at):
            moved[i] = spans[i]._replace(start=at[a], end=at[b])
    differing = [(one, other) for one, other in zip(spans, moved, strict=True) if one != other]
    if not differing or settings.offsets == CHARACTERS:
        return source
    lead = sum(_fits(text, other) - _fits(text, one) for one, other in differing)
    unit = settings.offsets or (source.unit if not lead else UTF16 if lead > 0 else CHARACTERS)
    for _, span in differing if unit != CHARACTERS else ():
        where = f"{span.label} in {excerpt(text, span.start, span.end)}"
        events.add("utf16" if unit else "ambiguous", str(span.label), span.place, where)
    return source._replace(spans=moved) if unit == UTF16 else source


def _fits(text: str, span: CharSpan) -> bool:
    """Whether a span covers what it quotes; without a quote, whether it is of whole words."""
    inner = text[span.start : span.end]
    if span.quote is not None:
        return same_text(span.quote, inner)
    is_word = all(EDGE.match(text, at) for at in (span.start, span.end))
    return is_word and 0 < len(inner) == len(inner.strip()) == span.end - span.start


# --- tokens


def _doc_of_tokens(record: JsonObject, place: Place, context: Context) -> Doc:
    """The tokens are as given. Spacing and sentences are unknown."""
    settings, vocab = context.settings, context.nlp.vocab
    key = TOKENIZED if TOKENIZED in record else settings.columns.token or "tokens"
    notes: Any = record.get("ner" if key == TOKENIZED else settings.columns.tag or TAG)
    words: Any = record.get(key)
    problem = ""
    if settings.tokens == "characters":
        problem = "it has tokens of its own, which --tokens characters does not cut"
    elif not isinstance(words, list) or not isinstance(notes, list):
        problem = f"found {str(words)[:60]!r} as {key}, {str(notes)[:60]!r} as their annotation"
    elif key != TOKENIZED and len(words) != len(notes):
        problem = f"found {len(notes)} tags of {len(words)} tokens"
    if problem:
        raise unreadable(place, problem, TOKENS_FIX)
    words = [check_text(word, place) for word in words]
    if key != TOKENIZED:
        tags = _tag_texts(notes, place, settings.tag_names)
        pairs = zip(words, tags, strict=True)
        words, tags = read_tags([TaggedToken(place, *pair) for pair in pairs], context)
        return Doc(vocab, words=words, ents=tags)
    if not all(word.strip() for word in words):
        raise unreadable(place, "expected a token, found white space alone", "Remove the token.")
    doc, mentions = Doc(vocab, words=[word.strip() for word in words]), []
    for span in notes:
        first, last, label = span if isinstance(span, list) and len(span) == 3 else (None,) * 3
        if not (type(first) is int and type(last) is int and 0 <= first <= last < len(doc)):
            problem = f"span {str(span)[:60]} is not of the {len(doc)} tokens"
            raise unreadable(place, problem, TOKENS_FIX)
        tokens, label = doc[first : last + 1], read_label(label, place)
        mentions.append(CharSpan(place, None, tokens.start_char, tokens.end_char, label))
    return annotate(doc, mentions, context)


def _tag_texts(tags: list[Any], place: Place, names: tuple[str, ...] | None) -> list[str]:
    """The tags of a record as texts."""
    by_number = dict(enumerate(names or ()))
    texts = [by_number.get(tag) if type(tag) is int else tag for tag in tags]
    if not all(isinstance(text, str) for text in texts):
        numbers = f"or a number from 0 to {len(names) - 1}" if names else "and no --tag-names are given"
        problem = f"not each of its tags is a text, {numbers}"
        raise unreadable(place, problem, "Name the numbers, in order: --tag-names O,B-PER,I-PER.")
    return [check_text(text, place).strip() for text in texts]


# --- what each tool calls the text and its spans


def _texts(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[Text]:
    """The texts of a record, read as by its tool. No key alone tells which that is."""
    listed = record.get("annotations")
    is_task = isinstance(listed, list) and any("result" in a for a in listed if isinstance(a, dict))
    if not record:  # what nobody annotated
        events.add("unlabelled", "records", place)
        return []
    try:
        if is_task or ("annotations" in record and isinstance(record.get("data"), dict)):
            return _of_label_studio(record, place, settings, events)
        if MINIMAL in record:  # Label Studio's JSON-MIN: regions under any name, choices as texts
            values = (value for value in record.values() if isinstance(value, list))
            regions = [item for value in values for item in value if not isinstance(item, str)]
            return [_text(record, _regions(regions, place, events), place, settings)]
        return _plain(record, place, settings, events)
    except OTHER_FORM as error:
        problem = f"found {str(record)[:60]!r}, whose annotation has another form"
        raise unreadable(place, problem, SPAN_FIX) from error


def _plain(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[Text]:
    """A record with its spans beside the text."""
    if record.get("_view_id") == "ner":  # Prodigy's ner.teach
        problem = "the answer is on its spans alone and says nothing of the other words"
        raise unreadable(place, problem, "Complete the annotation with Prodigy's ner.silver-to-gold.")
    if (answer := record.get("answer", "accept")) != "accept":
        events.add("rejected", str(answer), place)
        return []
    given = [record[key] for key in SPANS if record.get(key) is not None]
    if not given and "answer" not in record:  # an accepted record without spans has no entity
        problem = f"found none of {', '.join(SPANS)}"
        raise unreadable(place, problem, "Give every text its list of spans.")
    filled = [items for items in given if isinstance(items, list) and items]
    spans = _spans(next(iter(filled or given), []), place, events)
    unit = UTF16 if record.get(OFFSETS) == UTF16 else ""
    return [_text(record, spans, place, settings)._replace(tokens=record.get("tokens"), unit=unit)]


def _text(
    record: JsonObject, spans: list[CharSpan], place: Place, settings: Settings, alone: bool = False
) -> Text:
    """The text of a record. alone (bool): Whether its only text may have any name."""
    names = [name for name, value in record.items() if isinstance(value, str)]
    key = settings.text_key or ("data" if "data" in record and "text" not in record else "text")
    if key not in record and alone and len(names) == 1 and not settings.text_key:
        (key,) = names
    if key not in record:
        problem = f"it has no {key!r}, found the texts {', '.join(names) or 'none'}"
        raise unreadable(place, problem, "Name the key of the text with --text-key.")
    return Text(place, record[key], spans, (), _about(record, key))


def _spans(items: Any, place: Place, events: Events) -> list[CharSpan]:
    """Spans as triples or as objects, in the words of each tool."""
    if not isinstance(items, list):
        raise unreadable(place, f"found {str(items)[:60]!r} as the list of spans", SPAN_FIX)
    spans: list[CharSpan] = []
    for item in items:
        if isinstance(item, list):
            spans.append(CharSpan(place, None, *item))
            continue
        keys = ("start", "end") if "start" in item else ("start_offset", "end_offset")
        types = item[next((key for key in TYPE_KEYS if key in item), TYPE_KEYS[0])]
        labels = types if isinstance(types, list) else [types]
        if not labels:
            events.add("unreadable", "without a type", place)
        quote = item["text"] if isinstance(item.get("text"), str) else None
        start, end = map(item.get, keys)
        spans += [CharSpan(place, quote, start, end, label) for label in labels]
    return spans


def _of_label_studio(record: JsonObject, place: Place, settings: Settings, events: Events) -> list[Text]:
    """A task of Label Studio: the first annotation that was not cancelled; each, if asked for."""
    kept: list[Any] = []
    for annotation in record["annotations"]:
        if annotation.get("was_cancelled"):
            events.add("cancelled", "annotations", place)
        elif kept and not settings.every_annotation:
            events.add("further", "annotations", place)
        else:
            kept.append(annotation["result"])
    if not kept:
        events.add("unlabelled", "records", place)
    regions = (_regions(result, place, events) for result in kept)
    return [_text(record["data"], spans, place, settings, alone=True) for spans in regions]


def _regions(regions: Iterable[JsonObject], place: Place, events: Events) -> list[CharSpan]:
    """The spans of one annotation; what stands at no place in a text is counted."""
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
