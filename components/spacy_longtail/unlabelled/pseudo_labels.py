"""Pseudo-labels: confident predictions of a teacher for unlabelled text, as training data.

An entity is annotated if its score reaches the threshold, and a token is O if the teacher's
probability of O reaches it. All other tokens, and those of entities without a score, are missing
annotation, which the student's loss ignores.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, nextafter
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.types import Floats2d, Ints1d

from ..corpus.cutting import write_soft
from ..corpus.likeness import text_key
from ..pipes.scores.spans import ScoredSpan, write_scores
from ..settings import finite
from ..types import ANNOTATED_TYPES, ENTITY_SCORES
from .scan import Best
from .units import PoolSentence, pseudo_random


class PredictedMention(NamedTuple):
    """Entity predicted by a teacher."""

    start: int  # first token in its sentence
    end: int  # one past the last token
    label: str
    score: float | None  # null if the teacher gives none; then it is not annotated


@dataclass
class PredictedSentence(PoolSentence):
    """Sentence of the pool with the predictions of a teacher."""

    mentions: list[PredictedMention]  # of types of the corpus
    sure: Ints1d  # whether a token is O with sufficient probability, shape (n_tokens,)
    log_p: Floats2d | None = None  # float16, soft targets, shape (n_tokens, n_tags)

    @property
    def min_score(self) -> float:
        """Minimum score of its entities, 1.0 without any."""
        return min((m.score for m in self.mentions if m.score is not None), default=1.0)

    def doc(
        self, vocab: Vocab, kept: Collection[int], tags: Sequence[str], known: list[str] | None = None
    ) -> Doc:
        """Return the sentence as training data, with the scores of its entities in doc.spans.

        vocab (Vocab): Vocabulary of the document.
        kept (Collection[int]): Indices of the mentions to annotate.
        tags (Sequence[str]): Columns of the soft targets.
        known (Optional[List[str]]): Types that the teacher predicts; the document declares that
            others were not annotated. Null stands for all types.
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
    """Policy of the selection of pseudo-labelled sentences.

    threshold (float): Minimum confidence for entities and for O.
    max_mentions (int): Maximum number of pseudo-labelled mentions of each type.
    empty (float): Fraction of the sentences that have no entity, at least 0 and below 1.
    seed (int): Random seed of the sample of these.
    RAISES (ValueError): If `empty` is out of range (L001).
    """

    threshold: float = 0.9
    max_mentions: int = 2000
    empty: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        rule, fix = "a number of at least 0 and below 1", "0.2 is one sentence in five."
        finite("empty", self.empty, rule, fix, low=0.0, high=nextafter(1.0, 0.0))


class PseudoLabelled(NamedTuple):
    """Selected sentence."""

    sentence: PredictedSentence
    kept: Collection[int] = ()  # indices of the mentions to annotate


class Selection:
    """Selection of sentences from a stream, in bounded memory.

    The result is the same as if all sentences were stored. A sentence can only be selected for a
    type while the better sentences have fewer than `max_mentions` mentions of the type, so that the
    best `max_mentions` sentences of each type are enough.

    policy (PseudoLabelPolicy): The policy.
    labels (Sequence[str]): Types of the corpus.
    """

    def __init__(self, policy: PseudoLabelPolicy, labels: Sequence[str]) -> None:
        self.policy = policy
        size, n_empty = policy.max_mentions, self._n_empty(policy.max_mentions * len(labels))
        self.best: dict[str, Best[PredictedSentence]] = {label: Best(size) for label in labels}
        self.empty: Best[PredictedSentence] = Best(ceil(n_empty))

    def _n_empty(self, n: int) -> float:
        return n * self.policy.empty / (1 - self.policy.empty)

    def _is_sure(self, mention: PredictedMention) -> bool:
        return mention.score is not None and mention.score >= self.policy.threshold

    def add(self, sentence: PredictedSentence) -> None:
        """Store a sentence if it may be selected."""
        key = text_key(sentence.text)
        if not sentence.mentions and sentence.sure.all():
            self.empty.add(1.0 - pseudo_random(sentence.text, self.policy.seed), key, sentence)
        for label in {m.label for m in sentence.mentions if self._is_sure(m)}:
            self.best[label].add(sentence.min_score, key, sentence)

    def choose(self) -> list[PseudoLabelled]:
        """Return the selected sentences: those with entities by their score, then the others."""
        by_score = itemgetter(0, 1)  # by the key of the text if scores are equal
        rows = sorted((row for best in self.best.values() for row in best.heap), key=by_score)
        surest: dict[int, PredictedSentence] = {}  # of equal texts
        for _, key, sentence in reversed(rows):
            surest.setdefault(key, sentence)
        taken: dict[int, PseudoLabelled] = {}
        counts: Counter[str] = Counter()
        for key, sentence in surest.items():
            kept = set()
            for i, mention in enumerate(sentence.mentions):
                if self._is_sure(mention) and counts[mention.label] < self.policy.max_mentions:
                    counts[mention.label] += 1
                    kept.add(i)
            if kept:
                taken[key] = PseudoLabelled(sentence, kept)
        empty = sorted(self.empty.heap, reverse=True, key=by_score)
        left = [row for row in empty if row[1] not in taken]
        wanted = round(self._n_empty(len(taken)))
        return [*taken.values(), *(PseudoLabelled(sentence) for _, _, sentence in left[:wanted])]
