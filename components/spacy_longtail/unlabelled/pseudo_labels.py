"""Pseudo-labels: what a teacher is sure of in text that nobody labelled, as training data.

An entity counts where its score reaches the threshold, and a token is O where the teacher says so
with that probability. All other tokens, and those of entities without a score, are missing: neither
right nor wrong for the student.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.types import Floats2d, Ints1d

from ..corpus.soft import write_soft
from ..pipes.scores.spans import ScoredSpan, write_scores
from ..types import ANNOTATED_TYPES, ENTITY_SCORES
from .scan import Best
from .units import PoolSentence, lot


class ReadMention(NamedTuple):
    """An entity that a teacher reads."""

    start: int  # first token in its sentence
    end: int  # one past the last
    label: str
    score: float | None  # null where the teacher gives none: it is no pseudo-label


@dataclass
class ReadSentence(PoolSentence):
    """A sentence of the pool as the teacher reads it."""

    mentions: list[ReadMention]  # of declared types
    sure: Ints1d  # (n_tokens,) bool: O, as far as the threshold asks
    log_p: Floats2d | None = None  # (n_tokens, n_tags), float16, of the soft targets

    @property
    def least(self) -> float:
        """The least score of its entities, of those that have one."""
        return min((m.score for m in self.mentions if m.score is not None), default=1.0)

    def doc(
        self, vocab: Vocab, kept: Collection[int], tags: Sequence[str], known: list[str] | None = None
    ) -> Doc:
        """The sentence as training data, the scores of its entities in doc.spans.

        known (Optional[List[str]]): Types that the teacher reads; others are missing.
        """
        starts: list[object] = [i == 0 for i in range(len(self.words))]
        spaces = [*self.spaces[:-1], False]
        made = Doc(vocab, words=self.words, spaces=spaces, sent_starts=starts)  # type: ignore[arg-type]
        mentions = [m for i, m in enumerate(self.mentions) if i in kept]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.sure.astype("int8"), [0]])))
        outside = [made[a:b] for a, b in pairwise(edges.tolist()) if self.sure[a]]
        ents = [Span(made, m.start, m.end, label=m.label) for m in mentions]
        made.set_ents(ents, outside=outside, default="missing")
        scored = [ScoredSpan(*m[:3], m.score, ()) for m in mentions if m.score is not None]
        write_scores(made, ENTITY_SCORES, scored)
        if self.log_p is not None:
            write_soft(made, tags, self.log_p)
        if known is not None:
            made.user_data[ANNOTATED_TYPES] = known
        return made


@dataclass(frozen=True)
class PseudoLabelPolicy:
    """Which sentences are kept.

    threshold (float): Least score of an entity, and least probability of O.
    cap (int): Most pseudo-labelled mentions of a type.
    empty (float): Share of sentences without any entity.
    seed (int): Fixes which of these are drawn.
    """

    threshold: float = 0.9
    cap: int = 2000
    empty: float = 0.2
    seed: int = 0


class PseudoLabelled(NamedTuple):
    """A sentence, and which of its mentions are annotated."""

    sentence: ReadSentence
    kept: Collection[int] = ()


class Selection:
    """The sentences that may be kept, as they stream by, in bounded memory.

    The result is as if all of them had been kept: a sentence is wanted for a type only while fewer
    than `cap` mentions of the type stand in sentences above it. So the first `cap` of each type are
    enough.
    """

    def __init__(self, policy: PseudoLabelPolicy, labels: Sequence[str]) -> None:
        self.policy = policy
        self.best: dict[str, Best[ReadSentence]] = {label: Best(policy.cap) for label in labels}
        self.empty: Best[ReadSentence] = Best(ceil(self._n_empty(policy.cap * len(labels))))

    def _n_empty(self, n: int) -> float:
        return n * self.policy.empty / (1 - self.policy.empty)

    def _is_sure(self, mention: ReadMention) -> bool:
        return mention.score is not None and mention.score >= self.policy.threshold

    def add(self, sentence: ReadSentence, key: int) -> None:
        """Offer a sentence. key (int): What its text is known by."""
        if not sentence.mentions and sentence.sure.all():
            self.empty.add(1.0 - lot(sentence.text, self.policy.seed), key, sentence)
        for label in {m.label for m in sentence.mentions if self._is_sure(m)}:
            self.best[label].add(sentence.least, key, sentence)

    def choose(self) -> list[PseudoLabelled]:
        """Sentences with entities, best first; then those without."""
        by_score = itemgetter(0, 1)  # and by the text, where scores are the same
        rows = sorted((row for ranked in self.best.values() for row in ranked.heap), key=by_score)
        surest = {key: (score, sentence) for score, key, sentence in rows}  # of a text's readings
        taken: dict[int, PseudoLabelled] = {}
        counts: Counter[str] = Counter()
        for _, key in sorted(((score, key) for key, (score, _) in surest.items()), reverse=True):
            sentence = surest[key][1]
            kept = set()
            for i, mention in enumerate(sentence.mentions):
                if self._is_sure(mention) and counts[mention.label] < self.policy.cap:
                    counts[mention.label] += 1
                    kept.add(i)
            if kept:
                taken[key] = PseudoLabelled(sentence, kept)
        empty = sorted(self.empty.heap, reverse=True, key=by_score)
        left = [row for row in empty if row[1] not in taken]
        wanted = round(self._n_empty(len(taken)))
        return [*taken.values(), *(PseudoLabelled(sentence) for _, _, sentence in left[:wanted])]
