"""JSON records of tokens: each with a tag, as on the Hugging Face hub, or with spans, as for GLiNER."""

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Place, Settings
from .json_stream import no_record
from .spans import COUNT_TOKENS, CharSpan, annotate, bad_span, read_label
from .tag_names import TAG
from .tagged import TaggedSentence, Tagger, checked_words
from .tokens import check_text

TOKENS, TEXT, SPANS = "tokens", "tokenized_text", "ner"
WORDS_FIX = "Write a list of words."
TAGS_FIX = "Give every token one tag, a text or a whole number."
SPANS_FIX = "Write a list of [first token, last token, type]."


def read_tokens(record: dict[str, object], place: Place, context: Context, tagger: Tagger) -> Doc | None:
    """The document of a record of tokens, of no token where it has none; null for other records.

    The tokens are as given. Spacing and sentences are unknown.

    tagger (Tagger): Knows the scheme of the tags that came before.
    """
    if not is_tokenized(record, context.settings):
        return None
    columns = context.settings.columns
    tag = columns.tag or TAG
    key = TEXT if TEXT in record else columns.token or TOKENS
    words = _words(record.get(key), key, place)
    if context.settings.tokens == "characters":
        fix = "Leave --tokens characters out, or give it texts."
        raise no_record(place, "it has tokens of its own", fix)
    doc = Doc(context.nlp.vocab)
    if not words:
        context.events.add("empty", "records", place)
    elif key == TEXT:
        doc = _spanned(words, record.get(SPANS), place, context)
    else:
        names = _tags(record[tag], len(words), place, context.settings.tag_names)
        at = [place.line] * len(words)
        found, tags = tagger(TaggedSentence(at, words, names, False, place.record))
        doc = Doc(context.nlp.vocab, words=found, ents=tags)
    return doc


def is_tokenized(record: dict[str, object], settings: Settings) -> bool:
    """Whether a record has tokens, and tags or spans of them."""
    return TEXT in record or (settings.columns.tag or TAG) in record


def refuse_ignored(settings: Settings, tokenized: bool) -> None:
    """Refuse what is set for other records than a file has.

    tokenized (bool): Whether all records are of tokens, or none.
    """
    found, users = (
        ("json of tokens", "records of a text")
        if tokenized
        else ("json without tokens", "records of tokens")
    )
    for name in (
        ("text_key", "decisions", "offsets") if tokenized else ("scheme", "columns", "tag_names")
    ):
        if getattr(settings, name) != getattr(Settings, name):
            option = name.replace("_", "-")
            raise ValueError(Errors.L420.format(name=option, found=found, users=users))


def _words(found: object, key: str, place: Place) -> list[str]:
    if not isinstance(found, list):
        raise no_record(place, f"found {str(found)[:60]!r} as {key}", WORDS_FIX)
    return [check_text(word, place) for word in found]


def _tags(found: object, n_words: int, place: Place, names: tuple[str, ...] | None) -> list[str]:
    """The tags of a record as texts."""
    if not isinstance(found, list) or len(found) != n_words:
        n = f"{len(found)} tags" if isinstance(found, list) else repr(str(found)[:60])
        raise no_record(place, f"found {n} for {n_words} tokens", TAGS_FIX)
    kinds = {type(tag) for tag in found}
    if kinds == {str}:
        if names:
            problem, fix = "the tags are texts", "Leave it out."
            raise ValueError(Errors.L582.format(place=place, problem=problem, fix=fix))
        return [check_text(tag, place).strip() for tag in found]
    if kinds != {int}:
        raise no_record(place, f"found {str(found)[:60]!r} as tags", TAGS_FIX)
    if names is None:
        fix = "Name what they stand for, in order: --tag-names O,B-PER,I-PER, or a file."
        raise ValueError(Errors.L582.format(place=place, problem="the tags are numbers", fix=fix))
    strange = next((tag for tag in found if not 0 <= tag < len(names)), None)
    if strange is not None:
        problem = f"tag {strange} is none of 0 to {len(names) - 1}"
        raise ValueError(Errors.L582.format(place=place, problem=problem, fix="Name all tags."))
    return [names[tag] for tag in found]


def _spanned(words: list[str], spans: object, place: Place, context: Context) -> Doc:
    if not isinstance(spans, list):
        raise no_record(place, f"found {str(spans)[:60]!r} as {SPANS}", SPANS_FIX)
    sentence = TaggedSentence([place.line] * len(words), words, [], False, place.record)
    doc = Doc(context.nlp.vocab, words=checked_words(place.path, sentence, context.events))
    mentions = []
    for item in spans:
        if not isinstance(item, list) or len(item) != 3:
            raise no_record(place, f"found {str(item)[:60]!r} as a span", SPANS_FIX)
        first, last, label = item
        name = f"{first!r} to {last!r} {label!r}"
        if not (type(first) is int and type(last) is int and 0 <= first <= last < len(doc)):
            problem = f"is not of the {len(doc)} tokens"
            raise bad_span(place, name, problem, COUNT_TOKENS)
        end = doc[last].idx + len(doc[last])
        mentions.append(CharSpan(doc[first].idx, end, read_label(label, name, place), place))
    return annotate(doc, mentions, None, context.events)
