"""JSON records of tokens: of Hugging Face data sets, GLiNER, DyGIE and spaCy 2."""

import itertools
from collections.abc import Iterator
from typing import Any

from spacy.tokens import Doc

from .context import Context
from .json_files import JsonObject
from .options import Columns
from .spans import CharSpan, annotate, check_text, read_label
from .tags import TaggedToken, TagReader, spaces_in, tokens_doc
from .text import Place, unreadable

TAG = "ner_tags"  # as data sets on the Hugging Face hub usually call it
TOKENIZED = "tokenized_text"  # of GLiNER's records
SPACES = "space_after"  # whether a blank follows each token
PARAGRAPHS = "paragraphs"  # of spaCy 2's training format
MISSING = "-"  # spaCy 2's tag of a token without annotation
TOKENS_FIX = "Give every token a tag, or list spans as [first token, last token, type]."


def has_token_spans(record: JsonObject) -> bool:
    """Return whether a record has spans of tokens, as GLiNER's and DyGIE's have."""
    return TOKENIZED in record or ("sentences" in record and "ner" in record)


def doc_of_tags(
    record: JsonObject,
    place: Place,
    context: Context,
    columns: Columns,
    tag_names: tuple[str, ...] | None,
    reader: TagReader,
) -> Doc | None:
    """Return the document of a record with a tag per token, or None if it has no token.

    columns (Columns): Keys of the tokens and of their tags.
    tag_names (Optional[Tuple[str, ...]]): The tags that numbers stand for.
    reader (TagReader): Reads the tags of this file.
    """
    key = columns.token or "tokens"
    words: Any = record.get(key)
    tags: Any = record.get(columns.tag or TAG)
    _check_lists(words, tags, key, place, context)
    if len(words) != len(tags):
        raise unreadable(place, f"found {len(tags)} tags of {len(words)} tokens", TOKENS_FIX)
    words = [check_text(word, place) for word in words]
    texts = ["O"] * len(words) if context.unlabelled else tag_texts(tags, place, tag_names)
    spaces = _spaces(record, words)
    rows = [TaggedToken(place, *row) for row in zip(words, texts, spaces, strict=True)]
    tokens = reader.read(rows)
    return tokens_doc(context.nlp.vocab, [tokens]) if tokens else None


def _check_lists(words: Any, notes: Any, key: str, place: Place, context: Context) -> None:
    """Refuse tokens or annotation that are no lists, and tokens where characters are wanted."""
    if context.tokens == "characters":
        raise unreadable(
            place,
            "its text is split into tokens, which --tokens characters cannot split further",
            TOKENS_FIX,
        )
    if not isinstance(words, list) or not isinstance(notes, list):
        raise unreadable(
            place,
            f"found {str(words)[:60]!r} as {key}, {str(notes)[:60]!r} as their annotation",
            TOKENS_FIX,
        )


def _spaces(record: JsonObject, words: list[str]) -> list[bool] | list[None]:
    """Return whether a blank follows each token: as the record says, or as its text shows."""
    after, text = record.get(SPACES), record.get("text")
    if isinstance(after, list) and [type(value) for value in after] == [bool] * len(words):
        return after
    spaces = spaces_in(text, words) if isinstance(text, str) else None
    return spaces or [None] * len(words)


def tag_texts(tags: list[Any], place: Place, names: tuple[str, ...] | None) -> list[str]:
    """Return the tags of a record as texts.

    names (Optional[Tuple[str, ...]]): The tags that numbers stand for.
    """
    by_number = dict(enumerate(names or ()))
    texts = [by_number.get(tag) if type(tag) is int else tag for tag in tags]
    if not all(isinstance(text, str) for text in texts):
        numbers = f"or a number from 0 to {len(names) - 1}" if names else "and no --tag-names are given"
        raise unreadable(
            place,
            f"not each of its tags is a text, {numbers}",
            "Name the numbers, in order: --tag-names O,B-PER,I-PER.",
        )
    return [check_text(text, place).strip() for text in texts]


def doc_of_token_spans(record: JsonObject, place: Place, context: Context) -> Doc | None:
    """Return the document of a record with spans of tokens, or None if it has no token."""
    key = TOKENIZED if TOKENIZED in record else "sentences"
    sentences, notes = record[key], record.get("ner")
    if key == TOKENIZED:
        sentences = [sentences]
    elif isinstance(notes, list) and all(isinstance(spans, list) for spans in notes):
        notes = [*itertools.chain(*notes)]
    is_listed = isinstance(sentences, list) and all(isinstance(words, list) for words in sentences)
    if not is_listed:
        sentences, notes = record[key], None
    _check_lists(sentences, notes, key, place, context)
    words = [check_text(word, place) for sentence in sentences for word in sentence]
    if not all(word.strip() for word in words):
        raise unreadable(place, "expected a token, found white space alone", "Remove the token.")
    if not words:
        return None
    starts: list[bool | int | None] | None = None
    if key != TOKENIZED:
        starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    spaces = [space for space in _spaces(record, words) if space is not None] or None
    words = [word.strip() for word in words]
    doc = Doc(context.nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
    mentions: list[CharSpan] = []
    for span in notes if isinstance(notes, list) and not context.unlabelled else ():
        first, last, label = span if isinstance(span, list) and len(span) == 3 else (None,) * 3
        if not (type(first) is int and type(last) is int and 0 <= first <= last < len(doc)):
            raise unreadable(place, f"span {str(span)[:60]} is not of the {len(doc)} tokens", TOKENS_FIX)
        tokens, label = doc[first : last + 1], read_label(label, place)
        mentions.append(CharSpan(place, None, tokens.start_char, tokens.end_char, label))
    return annotate(doc, mentions, context)


def docs_of_paragraphs(
    record: JsonObject, place: Place, context: Context, reader: TagReader
) -> Iterator[Doc]:
    """Yield a document per paragraph of spaCy 2's training format, with its sentences."""
    for paragraph in record[PARAGRAPHS]:
        rows = [
            [(token["orth"], token.get("ner", MISSING)) for token in sentence["tokens"]]
            for sentence in paragraph["sentences"]
        ]
        words = [check_text(word, place) for sentence in rows for word, _ in sentence]
        spaces = iter(_spaces({"text": paragraph.get("raw")}, words))
        given = [
            [
                TaggedToken(place, word, None if tag == MISSING else tag, next(spaces))
                for word, tag in sentence
            ]
            for sentence in rows
        ]
        sentences = [reader.read(tokens) for tokens in given]
        if any(sentences):
            yield tokens_doc(context.nlp.vocab, sentences)
