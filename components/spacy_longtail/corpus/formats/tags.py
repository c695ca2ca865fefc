"""Tokens with tags in any scheme to documents with entities, every illegal tag named."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from .context import Context
from .text import Place, unreadable

ENDS = {  # the prefixes of an entity's last token, and of an entity of one token, if marked
    "bioes": ("E", "S"),
    "bilou": ("L", "U"),
}
SCHEME_FIX = "If the file is in another scheme, name it: --scheme iob1, iob2, bioes or bilou."


class TaggedToken(NamedTuple):
    place: Place
    word: str
    tag: str = "O"  # in the scheme of the file


Rows = Iterator[TaggedToken | Literal["sentence", "document"]]  # what begins after the mark
Tagged = tuple[list[str], list[str]]  # words and IOB2 tags


class Tagger:
    """Words and IOB2 tags of sentence after sentence of one file."""

    def __init__(self, context: Context) -> None:
        self.events, self.scheme = context.events, context.settings.scheme
        self.unlabelled = context.settings.unlabelled

    def __call__(self, rows: Sequence[TaggedToken]) -> Tagged:
        """Words and tags, without tokens of white space that begin and end no entity."""
        kept: list[TaggedToken] = []
        for row in rows:
            if row.word.strip():
                kept.append(row)
            elif self.unlabelled or row.tag[:1] in "OI":
                self.events.add("blank", "tokens", row.place, repr(row.word))
            else:
                problem = "expected a token, found white space alone"
                raise unreadable(row.place, problem, "Remove the token.")
        words = [row.word.strip() for row in kept]
        return words, ["O"] * len(words) if self.unlabelled else self._iob2(kept)

    def _iob2(self, rows: Sequence[TaggedToken]) -> list[str]:
        """Tags as IOB2. A scheme that marks the last token shows with the first entity.

        IOB1 looks like IOB2 with errors in it, so the settings must name it.
        """
        if self.scheme == "auto" and (prefixes := {row.tag[:1] for row in rows} - {"O"}):
            marked = (name for name, ends in ENDS.items() if prefixes & {*ends})
            self.scheme = next(marked, "iob2")
        last, single = ENDS.get(self.scheme, ("", ""))
        tags: list[str] = []
        before, running = "O", ""  # the type that the next tag may continue, or must if `last`
        for i, tag in enumerate([*(row.tag for row in rows), "O"]):  # nothing is open at the end
            prefix, _, label = tag.partition("-")
            is_inner = prefix in ("I", last) and tag != "O"
            goes_on = is_inner and label == running
            problem = ""
            if tag != "O" and not (label and prefix and prefix in ("B", "I", last, single)):
                problem = f"unknown tag {tag!r}"
            elif last and running and not goes_on:
                problem = f"tag {tag!r} after {before!r} leaves an entity open"
            elif is_inner and not goes_on and self.scheme != "iob1":
                problem = f"tag {tag!r} after {before!r} opens no entity"
            if problem:
                place = rows[min(i, len(rows) - 1)].place
                raise unreadable(place, f"{problem} in {self.scheme}", SCHEME_FIX)
            tags.append("O" if tag == "O" else f"{'I' if goes_on else 'B'}-{label}")
            before, running = tag, label if prefix in ("B", "I") else ""
        return tags[:-1]


def tagged_docs(rows: Rows, context: Context) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences from mark to mark.

    The tokens are as given. Spacing is unknown, so spaCy trains on these tokens.
    """
    tagger, whole, vocab = Tagger(context), context.settings.documents, context.nlp.vocab
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
        if (tagged := tagger(sentence))[0]:
            sentences.append(tagged)
    if sentences:
        yield _doc(sentences, vocab)


def _doc(sentences: list[Tagged], vocab: Vocab) -> Doc:
    words, tags = ([x for sentence in sentences for x in sentence[i]] for i in (0, 1))
    starts: list[bool | int | None] = [i == 0 for own, _ in sentences for i in range(len(own))]
    return Doc(vocab, words=words, ents=tags, sent_starts=starts)
