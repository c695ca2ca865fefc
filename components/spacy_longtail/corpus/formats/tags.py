"""Tags per token: turning tokens with tags in any scheme into documents with entities."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from spacy.tokens import Doc
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

from .context import Context, Events
from .options import Scheme
from .text import Place, unreadable

PREFIXES = {"auto": "BIESLU", "iob1": "BI", "iob2": "BI", "bioes": "BIES", "bilou": "BILU"}
INNER, CLOSING = "IEL", "ESLU"  # prefixes that continue an entity, and prefixes that end one
OUTSIDE = ("other", "outside", "none", "null", "_", "0")  # tags of some files instead of O
PREFIXED = re.compile(r"[BIESLU]-")
ONE_TAG = r"(?:O|[BIESLU]-[^\s,|;/+#]+)"
SEVERAL = re.compile(rf"{ONE_TAG}(?:\s*(?:[\s,|;]\s*O|[\s,|;/+#]\s*[BIESLU]-[^\s,|;/+#]+))+")
SCHEME_FIX = "If the file is in another scheme, name it: --scheme iob1, iob2, bioes or bilou."


class TaggedToken(NamedTuple):
    """Token with its tag.

    place (Place): Its place.
    word (str): Its text.
    tag (Optional[str]): Tag in the scheme of the file; null if the token has no annotation.
    space (Optional[bool]): Whether a blank follows; null if unknown.
    """

    place: Place
    word: str
    tag: str | None = "O"
    space: bool | None = None


Rows = Iterator[TaggedToken | Literal["sentence", "document"]]  # a mark starts a sentence or document


def is_tag(text: str) -> bool:
    """Return whether a text is O or a tag with a prefix such as B-."""
    return text == "O" or bool(PREFIXED.match(text))


class TagReader:
    """Reader of the tags of one file, which are either all prefixed or all without a prefix.

    context (Context): Its events count dropped tokens and tags without a prefix.
    scheme (str): Scheme of the tags; "auto" detects all but iob1.
    all_tags (Callable[[], Iterator[Optional[str]]]): Reads all tags of the file again. It is called
        if the tags have no prefix, to find out which of them means outside entities.
    """

    def __init__(
        self,
        context: Context,
        scheme: Scheme,
        all_tags: Callable[[], Iterator[str | None]] | None = None,
    ) -> None:
        self.context, self.scheme, self.all_tags = context, scheme, all_tags
        self.outside = "O"
        self.prefixed: tuple[bool, TaggedToken] | None = None  # decided by the first tag but O

    def read(self, rows: Sequence[TaggedToken]) -> list[TaggedToken]:
        """Return the tokens of a sentence with tags in IOB2.

        Tokens of white space are left out. They must not begin an entity.
        """
        tokens: list[TaggedToken] = []
        running = ""  # type of the entity that the next tag may continue
        for row in rows:
            word = row.word.strip()
            if word:
                tag, running = self._read_tag(row, running)
                tokens.append(TaggedToken(row.place, word, tag, row.space))
            elif self.context.unlabelled or (row.tag or "O")[:1] in "OI":
                self.context.events.add("blank", "tokens", row.place, repr(row.word))
            else:
                raise unreadable(row.place, "expected a token, found white space alone", "Remove it.")
        return tokens

    def _read_tag(self, row: TaggedToken, running: str) -> tuple[str | None, str]:
        """Return the IOB2 tag of a token, and the type of the entity that the next may continue."""
        tag = row.tag
        if self.context.unlabelled or tag == "O":
            return "O", ""
        if tag is None:
            return None, ""
        if not self._is_prefixed(row, tag):
            if tag == self.outside:
                self.context.events.add("outside", tag, row.place)
                return "O", ""
            self.context.events.add("unprefixed", tag, row.place, f"{row.word!r} {tag}")
            return f"{'I' if tag == running else 'B'}-{tag}", tag
        prefix, _, label = tag.partition("-")
        continues = prefix in INNER and label == running
        if SEVERAL.fullmatch(tag):
            raise unreadable(
                row.place,
                f"found several tags in one cell, {tag!r}",
                "A token has one tag here: leave one of them, for example the first.",
            )
        if not label or prefix not in PREFIXES[self.scheme]:
            raise unreadable(row.place, f"unknown tag {tag!r} in the scheme {self.scheme}", SCHEME_FIX)
        if prefix in INNER and not continues and self.scheme != "iob1":
            raise unreadable(
                row.place, f"tag {tag!r} continues no entity in the scheme {self.scheme}", SCHEME_FIX
            )
        return f"{'I' if continues else 'B'}-{label}", "" if prefix in CLOSING else label

    def _is_prefixed(self, row: TaggedToken, tag: str) -> bool:
        """Return whether the tags of the file have prefixes, which its first tag but O decides."""
        is_prefixed = bool(PREFIXED.match(tag)) or bool(SEVERAL.fullmatch(tag))
        if self.prefixed is None:
            self.prefixed = is_prefixed, row
            if not is_prefixed and self.all_tags:
                self.outside = _outside_tag(self.all_tags(), row.place)
        decided, first = self.prefixed
        is_name = tag == self.outside or (tag != "o" and any(c.isalpha() for c in tag))
        if not is_prefixed and (self.scheme != "auto" or not is_name):
            raise unreadable(row.place, f"unknown tag {tag!r} in the scheme {self.scheme}", SCHEME_FIX)
        if decided != is_prefixed:
            having = "has a prefix such as B-", "has no prefix"
            other = f"{first.tag!r} at {first.place} {having[is_prefixed]}"
            raise unreadable(
                row.place, f"tag {tag!r} {having[decided]}, {other}", "Write all tags in one scheme."
            )
        return is_prefixed


def _outside_tag(tags: Iterator[str | None], place: Place) -> str:
    """Return the tag of tokens outside entities: O, or what a file without any O has for it.

    tags (Iterator[Optional[str]]): All tags of a file, which have no prefix.
    place (Place): Place of the first of them.
    """
    known: set[str] = set()
    for tag in tags:
        if tag == "O":
            return "O"
        known.add(tag or "")
    found = next((tag for tag in sorted(known) if tag.casefold() in OUTSIDE), "")
    if not found:
        raise unreadable(
            place,
            f"no token has the tag O, found {', '.join(sorted(known)[:5])}",
            "Name the column of the tags. Tokens outside entities have the tag O.",
        )
    return found


def tagged_docs(
    read_rows: Callable[[Events], Rows], context: Context, scheme: Scheme, documents: bool = False
) -> Iterator[Doc]:
    """Yield one document per sentence, or one for all sentences from mark to mark.

    The tokens are as given. Where the spacing is unknown, spaCy trains on these tokens.

    read_rows (Callable[[Events], Rows]): Reads the rows of a file, each time from its start. It
        counts what it skips in the given events.
    scheme (str): Scheme of the tags.
    documents (bool): Whether the sentences between two marks form one document.
    """

    def all_tags() -> Iterator[str | None]:
        return (row.tag for row in read_rows(Events()) if isinstance(row, TaggedToken))

    reader = TagReader(context, scheme, all_tags)
    sentences: list[list[TaggedToken]] = []
    is_marked = False
    for is_row, group in itertools.groupby(
        read_rows(context.events), lambda row: isinstance(row, TaggedToken)
    ):
        if not is_row:
            is_marked = "document" in group
            continue
        sentence = [row for row in group if isinstance(row, TaggedToken)]
        if sentences and (is_marked or not documents):
            yield tokens_doc(context.nlp.vocab, sentences)
            sentences = []
        if documents and not (sentences or is_marked):
            raise unreadable(
                sentence[0].place,
                "no mark of a document before its first sentence, as --documents needs",
                "Leave --documents out.",
            )
        if tokens := reader.read(sentence):
            if sentences and sentences[-1][-1].space is False:  # a blank separates sentences
                sentences[-1][-1] = sentences[-1][-1]._replace(space=True)
            sentences.append(tokens)
    if sentences:
        yield tokens_doc(context.nlp.vocab, sentences)


def spaces_in(text: str, words: list[str]) -> list[bool] | None:
    """Return whether a blank follows each word of a text, or None if the text has other words."""
    with suppress(ValueError):  # of spaCy
        found, spaces = get_words_and_spaces(words, text)
        if found == words:
            return spaces
    return None


def tokens_doc(vocab: Vocab, sentences: Sequence[Sequence[TaggedToken]]) -> Doc:
    """Return a document of sentences with tags in IOB2."""
    tokens = [token for sentence in sentences for token in sentence]
    tags = [token.tag or "" for token in tokens]
    starts: list[bool | int | None] = [i == 0 for s in sentences for i in range(len(s))]
    spaces = None
    if any(token.space is not None for token in tokens):
        spaces = [token.space is not False for token in tokens]
    words = [token.word for token in tokens]
    return Doc(vocab, words=words, spaces=spaces, ents=tags, sent_starts=starts)
