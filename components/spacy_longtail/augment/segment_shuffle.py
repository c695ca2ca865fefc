"""Shuffle within segments: the words of a mention, or between mentions, in another order."""

from collections.abc import Iterator

from spacy.language import Language

from .base import Augmenter
from .draft import BEGINS, OUTSIDE, DraftSentence, Edit, Piece, capitalised


class SegmentShuffle(Augmenter):
    """Shuffle the words of mentions, and of the runs of O tokens between them, within a sentence.

    The tags stay where they are, and so do whitespace tokens.

    level (float): Probability that a segment is shuffled, in [0, 1].
    labels (Optional[List[str]]): Rewrite only sentences with mentions of these types; null for all.
    budget (Optional[int]): null rewrites in place, n yields the original and n rewritten copies.
    seed (int): Fixes the draws.
    RETURNS (Callable): The augmenter, nlp and example to examples.
    SOURCE: Dai & Adel 2020.
    """

    name = "longtail.segment_shuffle.v1"

    def edits(self, nlp: Language, sentence: DraftSentence) -> Iterator[Edit]:
        texts = sentence.draft.texts
        for places in segments(sentence):
            if len(places) < 2 or self._rng.random() >= self.level:
                continue
            for i, j in zip(places, self._rng.sample(places, len(places)), strict=True):
                new = [Piece(texts[j])]
                yield Edit(i, i + 1, capitalised(new, texts[i]) if i == sentence.first_word else new)


def segments(sentence: DraftSentence) -> Iterator[list[int]]:
    """The words of each mention and of each maximal run of O tokens. Whitespace ends no segment."""
    draft = sentence.draft
    places: list[int] = []
    before = OUTSIDE
    for i in range(sentence.start, sentence.end):
        iob = draft.iob[i]
        if draft.is_space[i] and iob != BEGINS:
            continue
        if iob == BEGINS or draft.fixed[i] or (iob == OUTSIDE) != (before == OUTSIDE):
            yield places
            places = []
        if not draft.fixed[i]:
            places.append(i)
        before = iob
    yield places
