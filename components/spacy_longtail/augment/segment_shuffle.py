"""Shuffle within segments: change the order of words within mentions and between them."""

from collections.abc import Iterator

from spacy.language import Language

from ..corpus.counts import BEGINS, OUTSIDE
from .base import Augmenter
from .draft import DraftSentence, Edit, Piece, capitalised


class SegmentShuffle(Augmenter):
    """Shuffle the words within each mention, and within each run of O tokens between mentions.

    Tags and whitespace tokens keep their places.

    level (float): Probability that a segment is shuffled, 0 to 1.
    labels (Optional[List[str]]): Rewrite only sentences with mentions of these types; null rewrites
        all.
    budget (Optional[int]): Number of rewritten copies that are added to each example; null replaces
        the example by a rewritten copy.
    seed (int): Random seed.
    RETURNS (Callable): The augmenter, a function of nlp and an example to examples.
    SOURCE: Dai & Adel 2020 (docs/methods.md, "Augmentation").
    EXAMPLE:
        >>> from spacy_longtail.augment import SegmentShuffle
        >>> augment = SegmentShuffle(level=1.0, seed=1)
        >>> [eg.reference.text for eg in augment(nlp, examples[1])]
        ['Sandy hit West Key . ']
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
    """Yield the words of each mention and of each run of O tokens, across whitespace tokens."""
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
