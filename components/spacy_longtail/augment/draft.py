"""Drafts: the words, tags and sentence starts of a document as lists, and edits of them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.counts import BEGINS, INSIDE, MISSING, OUTSIDE, EntityBounds
from ..sentences import sentence_lengths

ACRONYM = 4  # letters: USA and NATO are written in capitals anywhere


class Piece(NamedTuple):
    """Token of a replacement."""

    text: str
    space: bool = False  # whether a blank follows; the last piece has the replaced token's value


class Edit(NamedTuple):
    """Replacement of tokens. The first new token gets the tag of the first old one."""

    start: int  # first token replaced
    end: int  # one past the last
    new: Sequence[Piece]  # at least one


def in_capitals(text: str) -> bool:
    """Return whether a text is written in capitals and is too long for an acronym."""
    return text.isupper() and sum(map(str.isalpha, text)) > ACRONYM


def capitalised(new: Sequence[Piece], old: str) -> list[Piece]:
    """Return a replacement with an initial capital if the replaced text has one."""
    first = new[0].text
    text = first[:1].upper() + first[1:] if old[:1].isupper() else first
    return [new[0]._replace(text=text), *new[1:]]


class Draft:
    """Words, spaces, sentence starts and entity tags of a document.

    Some tokens are fixed, so that they are never replaced, moved or used as replacements:
    whitespace, tokens without annotation, blocked tokens, and mentions across a sentence start.
    """

    def __init__(self, doc: Doc) -> None:
        rows = doc.to_array(["ENT_IOB", "ENT_TYPE", "SENT_START", "IS_SPACE", "SPACY"])
        iob, types, starts, is_space, spacy = rows.reshape(-1, 5).T
        fixed = (is_space == 1) | (iob == MISSING) | ((iob == BEGINS) & (types == 0))
        self.texts = [token.text for token in doc]
        self.iob: list[int] = iob.tolist()
        self.types: list[int] = types.tolist()  # hashes
        self.starts: list[int] = starts.astype("int64").tolist()  # 1 begins, -1 continues it, 0 unknown
        self.is_space: list[bool] = (is_space == 1).tolist()
        self.spaces: list[bool] = (spacy == 1).tolist()
        self.has_unknown_spaces = doc.has_unknown_spaces
        self.has_starts = doc.has_annotation("SENT_START")
        self.mentions: list[EntityBounds] = []  # mentions without a fixed token
        for ent in doc.ents:
            if 1 in self.starts[ent.start + 1 : ent.end]:
                fixed[ent.start : ent.end] = True
            elif not fixed[ent.start : ent.end].any():
                self.mentions.append((ent.start, ent.end, ent.label))
        self.fixed: list[bool] = fixed.tolist()
        self._ends: list[int] = np.cumsum(sentence_lengths(doc)).tolist()

    def sentences(self) -> Iterator["DraftSentence"]:
        """Yield the annotated sentences; a document without boundaries is one sentence."""
        for start, end in pairwise([0, *self._ends]):
            if not all(self.fixed[start:end]):
                yield DraftSentence(self, start, end)

    def rewritten(self, vocab: Vocab, edits: Iterable[Edit]) -> Doc:
        """Return a document with the edits made.

        vocab (Vocab): Vocabulary of the document.
        edits (Iterable[Edit]): Edits without overlap.
        """
        by_start = {edit.start: edit for edit in edits}
        words, spaces, end = list[str](), list[bool](), 0
        starts, tags = list[bool | int | None](), list[tuple[int, int]]()
        while end < len(self.texts):
            kept = Edit(end, end + 1, (Piece(self.texts[end]),))
            start, end, new = by_start.get(end, kept)
            old = self.texts[start - 1 : start + 1]
            if words and _touch(words[-1], new[0].text) and not _touch(*old):
                spaces[-1] = True  # where the old ones, such as a word and a comma, did not touch
            words.extend(piece.text for piece in new)
            spaces.extend([*(piece.space for piece in new[:-1]), self.spaces[end - 1]])
            n_more = len(new) - 1
            continues = -1 if self.has_starts and self.starts[start] else 0
            starts.extend([self.starts[start], *[continues] * n_more])
            label = self.types[start]
            tags.extend([(self.iob[start], label), *[(INSIDE if label else OUTSIDE, label)] * n_more])
        known_spaces = None if self.has_unknown_spaces else spaces
        doc = Doc(vocab, words=words, spaces=known_spaces, sent_starts=starts)
        return doc.from_array(["ENT_IOB", "ENT_TYPE"], np.asarray(tags, dtype="uint64"))


def _touch(left: str, right: str) -> bool:
    """Return whether two tokens would run together without a blank."""
    return left[-1].isalnum() and right[0].isalnum()


@dataclass(frozen=True)
class DraftSentence:
    """Tokens `start` to `end` of a draft."""

    draft: Draft
    start: int
    end: int

    @property
    def mentions(self) -> list[EntityBounds]:
        known = self.draft.mentions
        return known[bisect_left(known, (self.start,)) : bisect_left(known, (self.end,))]

    @cached_property
    def first_word(self) -> int:
        """Return the index of the first token with a letter, or -1."""
        texts = self.draft.texts
        return next((i for i in range(self.start, self.end) if any(map(str.isalpha, texts[i]))), -1)

    @cached_property
    def in_capitals(self) -> bool:
        return in_capitals(" ".join(self.draft.texts[self.start : self.end]))

    def cased(self, new: Sequence[Piece], start: int, end: int) -> list[Piece]:
        """Return a replacement of tokens `start` to `end` with the capitals of these."""
        old = " ".join(self.draft.texts[start:end])
        if self.in_capitals or in_capitals(old):
            return [piece._replace(text=piece.text.upper()) for piece in new]
        return capitalised(new, old) if start == self.first_word else list(new)
