"""Tokens with tags in any scheme to documents with entities, every illegal tag named."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from .context import Context
from .text import Place, unreadable

PREFIXES = {"auto": "BIESLU", "iob1": "BI", "iob2": "BI", "bioes": "BIES", "bilou": "BILU"}
INNER, CLOSING = "IEL", "ESLU"  # prefixes that continue an entity, and those that end one
SCHEME_FIX = "If the file is in another scheme, name it: --scheme iob1, iob2, bioes or bilou."


class TaggedToken(NamedTuple):
    place: Place
    word: str
    tag: str = "O"  # in the scheme of the file


Rows = Iterator[TaggedToken | Literal["sentence", "document"]]  # what begins after the mark
Tagged = tuple[list[str], list[str]]  # words and IOB2 tags


def read_tags(rows: Sequence[TaggedToken], context: Context) -> Tagged:
    """Words and IOB2 tags of a sentence, without tokens of white space that begin no entity."""
    kept: list[TaggedToken] = []
    for row in rows:
        if row.word.strip():
            kept.append(row)
        elif context.settings.unlabelled or row.tag[:1] in "OI":
            context.events.add("blank", "tokens", row.place, repr(row.word))
        else:
            raise unreadable(row.place, "expected a token, found white space alone", "Remove it.")
    words = [row.word.strip() for row in kept]
    if context.settings.unlabelled:
        return words, ["O"] * len(words)
    tags, scheme = list[str](), context.settings.scheme
    running = ""  # the type of the entity that the next tag may continue
    for row in kept:
        prefix, _, label = row.tag.partition("-")
        if row.tag == "O":
            tags.append("O")
            running = ""
            continue
        goes_on = prefix in INNER and label == running
        problem = ""
        if not (label and len(prefix) == 1 and prefix in PREFIXES[scheme]):
            problem = f"unknown tag {row.tag!r}"
        elif prefix in INNER and not goes_on and scheme != "iob1":
            problem = f"tag {row.tag!r} opens no entity"
        if problem:
            raise unreadable(row.place, f"{problem} in the scheme {scheme}", SCHEME_FIX)
        tags.append(f"{'I' if goes_on else 'B'}-{label}")
        running = "" if prefix in CLOSING else label
    return words, tags


def tagged_docs(rows: Rows, context: Context) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences from mark to mark.

    The tokens are as given. Spacing is unknown, so spaCy trains on these tokens.
    """
    whole, vocab = context.settings.documents, context.nlp.vocab
    sentences: list[Tagged] = []
    opens = False
    for is_row, group in itertools.groupby(rows, lambda row: isinstance(row, TaggedToken)):
        if not is_row:
            opens = "document" in group
            continue
        sentence = [row for row in group if isinstance(row, TaggedToken)]
        if sentences and (opens or not whole):
            yield _doc(sentences, vocab)
            sentences = []
        if whole and not (sentences or opens):
            problem = "no mark of a document before its first sentence, as --documents needs"
            raise unreadable(sentence[0].place, problem, "Leave --documents out.")
        if (tagged := read_tags(sentence, context))[0]:
            sentences.append(tagged)
    if sentences:
        yield _doc(sentences, vocab)


def _doc(sentences: list[Tagged], vocab: Vocab) -> Doc:
    words, tags = ([x for sentence in sentences for x in sentence[i]] for i in (0, 1))
    starts: list[bool | int | None] = [i == 0 for offsets, _ in sentences for i in range(len(offsets))]
    return Doc(vocab, words=words, ents=tags, sent_starts=starts)
