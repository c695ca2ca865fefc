"""What a rewritten copy keeps of a reference, as lists, and the edits that make the copy."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.sentences import sentence_lengths

MISSING, INSIDE, OUTSIDE, BEGINS = range(4)  # spaCy's codes


ACRONYM = 4  # letters: USA and NATO are written in capitals anywhere


class Piece(NamedTuple):
    """A token of a replacement."""

    text: str
    space: bool = False  # whether a blank follows; the last piece takes what the replaced token had


def in_capitals(text: str) -> bool:
    """Whether a text is written in capitals, and too long for an acronym."""
    return text.isupper() and sum(map(str.isalpha, text)) > ACRONYM


def capitalised(new: Sequence[Piece], old: str) -> list[Piece]:
    """With an initial capital if the replaced text had one. Nothing is lower-cased."""
    if not old[:1].isupper():
        return list(new)
    text = new[0].text
    return [Piece(text[:1].upper() + text[1:], new[0].space), *new[1:]]


class EntitySpan(NamedTuple):
    start: int  # first token
    end: int  # one past the last
    label: int  # hash of the type


class Edit(NamedTuple):
    """Tokens to replace. The first new one takes the tag of the first old one, others continue it."""

    start: int  # first token replaced
    end: int  # one past the last
    new: Sequence[Piece]  # at least one


class Draft:
    """Words, spaces, sentence starts and entity tags of a document.

    Fixed tokens are never replaced, moved or drawn: whitespace, tokens without annotation, blocked ones,
    and mentions that run across a sentence start.
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
        self.mentions: list[EntitySpan] = []  # those without a fixed token
        for ent in doc.ents:
            if 1 in self.starts[ent.start + 1 : ent.end]:
                fixed[ent.start : ent.end] = True
            elif not fixed[ent.start : ent.end].any():
                self.mentions.append(EntitySpan(ent.start, ent.end, ent.label))
        self.fixed: list[bool] = fixed.tolist()
        self._bounds: list[int] = np.concatenate([[0], np.cumsum(sentence_lengths(doc))]).tolist()

    def sentences(self) -> Iterator["DraftSentence"]:
        """The annotated sentences, the whole document where no boundary is set."""
        for start, end in zip(self._bounds, self._bounds[1:], strict=False):
            if not all(self.fixed[start:end]):
                yield DraftSentence(self, start, end)

    def rewritten(self, vocab: Vocab, edits: Iterable[Edit]) -> Doc:
        """A document with the edits made.

        edits (Iterable[Edit]): In ascending order, without overlap.
        """
        words: list[str] = []
        spaces: list[bool] = []
        starts: list[bool | int | None] = []
        tags: list[tuple[int, int]] = []
        for start, end, new in self._with_kept_tokens(edits):
            if words and self._would_run_together(words[-1], new[0].text, start):
                spaces[-1] = True
            words.extend(piece.text for piece in new)
            spaces.extend(piece.space for piece in new[:-1])
            spaces.append(self.spaces[end - 1])
            n_more = len(new) - 1
            goes_on = -1 if self.has_starts and self.starts[start] else 0
            starts.extend([self.starts[start], *[goes_on] * n_more])
            label = self.types[start]
            tags.extend([(self.iob[start], label), *[(INSIDE if label else OUTSIDE, label)] * n_more])
        doc = Doc(
            vocab,
            words=words,
            spaces=None if self.has_unknown_spaces else spaces,
            sent_starts=starts,
        )
        return doc.from_array(["ENT_IOB", "ENT_TYPE"], np.asarray(tags, dtype="uint64"))

    def _with_kept_tokens(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        place = 0
        for edit in (*edits, Edit(len(self.texts), len(self.texts), ())):
            for i in range(place, edit.start):
                yield Edit(i, i + 1, (Piece(self.texts[i]),))
            if edit.new:
                yield edit
            place = edit.end

    def _would_run_together(self, left: str, right: str, place: int) -> bool:
        """Whether two words would touch where the old ones, such as a word and a comma, did not."""
        return _both_words(left, right) and not _both_words(self.texts[place - 1], self.texts[place])


def _both_words(left: str, right: str) -> bool:
    return left[-1].isalnum() and right[0].isalnum()


@dataclass(frozen=True)
class DraftSentence:
    """Tokens `start` to `end` of a draft."""

    draft: Draft
    start: int
    end: int

    @property
    def mentions(self) -> list[EntitySpan]:
        found, start = self.draft.mentions, attrgetter("start")
        return found[bisect_left(found, self.start, key=start) : bisect_left(found, self.end, key=start)]

    @cached_property
    def first_word(self) -> int:
        """The first token with a letter, -1 if none has."""
        texts = self.draft.texts
        return next((i for i in range(self.start, self.end) if any(map(str.isalpha, texts[i]))), -1)

    @cached_property
    def in_capitals(self) -> bool:
        return in_capitals(" ".join(self.draft.texts[self.start : self.end]))

    def cased(self, new: Sequence[Piece], start: int, end: int) -> list[Piece]:
        """A replacement of tokens `start` to `end`, in capitals or with an initial one as they are."""
        old = " ".join(self.draft.texts[start:end])
        if self.in_capitals or in_capitals(old):
            return [Piece(piece.text.upper(), piece.space) for piece in new]
        return capitalised(new, old) if start == self.first_word else list(new)
