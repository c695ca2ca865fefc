"""Pseudo-labels: what a teacher is sure of in text that nobody labelled, as training data.

An entity counts where its score reaches the threshold, and a token is O where the teacher says so with
that probability. All other tokens are missing: neither right nor wrong for the student. So are those of
an entity without a score.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from thinc.types import Floats2d, Ints1d

from ..corpus.soft import write_soft
from ..errors import Errors
from ..pipes.scores.spans import ScoredSpan, write_scores
from ..settings import finite, whole
from ..types import ENTITY_SCORES
from .scan import Best
from .units import PoolSentence, lot

LEAST = 1e-6  # threshold


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

    def doc(self, vocab: Vocab, kept: Collection[int], tags: Sequence[str]) -> Doc:
        """The sentence as training data, the scores of its entities in doc.spans.

        kept (Collection[int]): Which of the mentions are annotated.
        tags (Sequence[str]): Names of the soft targets' columns.
        """
        starts: list[object] = [i == 0 for i in range(len(self.words))]
        spaces = [*self.spaces[:-1], False]
        made = Doc(vocab, words=self.words, spaces=spaces, sent_starts=starts)  # type: ignore[arg-type]
        own = [m for i, m in enumerate(self.mentions) if i in kept]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.sure.astype("int8"), [0]])))
        outside = [made[a:b] for a, b in pairwise(edges.tolist()) if self.sure[a]]
        ents = [Span(made, m.start, m.end, label=m.label) for m in own]
        made.set_ents(ents, outside=outside, default="missing")
        scored = [ScoredSpan(m.start, m.end, m.label, m.score, ()) for m in own if m.score is not None]
        write_scores(made, ENTITY_SCORES, scored)
        if self.log_p is not None:
            write_soft(made, tags, self.log_p)
        return made


@dataclass(frozen=True)
class PseudoLabelPolicy:
    """Which sentences are kept.

    threshold (float): Least score of an entity, and least probability of O.
    cap (int): Most pseudo-labelled mentions of a type.
    floor (int): Mentions of a type that are filled up with the best below the threshold.
    empty (float): Share of sentences without any entity.
    seed (int): Fixes which of these are drawn.
    """

    threshold: float = 0.9
    cap: int = 2000
    floor: int = 0
    empty: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        finite("threshold", self.threshold, "a score above 0, to 1", "Use 0.9.", LEAST, 1.0)
        whole("cap", self.cap, "Use 2000.", 1)
        whole("floor", self.floor, "Use 0 for none.", 0)
        finite("empty", self.empty, "a share from 0 to 0.9", "Use 0.2.", 0.0, 0.9)
        if self.floor > self.cap:
            rule, fix = f"at most --cap, which is {self.cap}", "Raise --cap, or lower --floor."
            raise ValueError(Errors.L001.format(name="floor", rule=rule, value=self.floor, fix=fix))


@dataclass
class PseudoLabelled:
    """A sentence, and which of its mentions are annotated."""

    sentence: ReadSentence
    kept: set[int] = field(default_factory=set)


class Selection:
    """The sentences that may be kept, as they stream by, in bounded memory.

    The result is as if all of them had been kept: a sentence is wanted for a type only while fewer than
    `cap` mentions of the type stand in sentences that rank above it, so the first `cap` sentences of
    each type are enough.

    policy (PseudoLabelPolicy): What is wanted. labels (Sequence[str]): The declared types.
    """

    def __init__(self, policy: PseudoLabelPolicy, labels: Sequence[str]) -> None:
        self.policy, self.labels = policy, list(labels)
        self.sure: dict[str, Best[ReadSentence]] = {label: Best(policy.cap) for label in labels}
        self.doubtful: dict[str, Best[ReadSentence]] = {label: Best(policy.floor) for label in labels}
        self.empty: Best[ReadSentence] = Best(ceil(self._n_empty(policy.cap * len(self.labels))))

    def _n_empty(self, n: int) -> float:
        return n * self.policy.empty / (1 - self.policy.empty)

    def add(self, sentence: ReadSentence, key: int) -> None:
        """Offer a sentence. key (int): What its text is known by."""
        if not sentence.mentions:
            if sentence.sure.all():
                self.empty.add(1.0 - lot(sentence.text, self.policy.seed), key, sentence)
            return
        for label in {m.label for m in sentence.mentions}:
            scores = [m.score for m in sentence.mentions if m.label == label and m.score]
            below = [score for score in scores if score < self.policy.threshold]
            if len(below) < len(scores):
                self.sure[label].add(sentence.least, key, sentence)
            if below:
                self.doubtful[label].add(max(below), key, sentence)

    def choose(self) -> list[PseudoLabelled]:
        """Sentences with entities, best first; then those that fill up a type; then those without."""
        taken: dict[int, PseudoLabelled] = {}
        counts: Counter[str] = Counter()
        rows = sorted((row for own in self.sure.values() for row in own.heap), key=_rank)
        ranked = {key: (score, s) for score, key, s in rows}  # of several readings of a text the surest
        for _, key in sorted(((score, key) for key, (score, _) in ranked.items()), reverse=True):
            sentence = ranked[key][1]
            kept = set()
            for i, mention in enumerate(sentence.mentions):
                is_sure = mention.score is not None and mention.score >= self.policy.threshold
                if is_sure and counts[mention.label] < self.policy.cap:
                    counts[mention.label] += 1
                    kept.add(i)
            if kept:
                taken[key] = PseudoLabelled(sentence, kept)
        for label in self.labels:
            self._fill_up(label, taken, counts)
        left = [row for row in sorted(self.empty.heap, reverse=True, key=_rank) if row[1] not in taken]
        wanted = round(self._n_empty(len(taken)))
        return [*taken.values(), *(PseudoLabelled(sentence) for _, _, sentence in left[:wanted])]

    def _fill_up(self, label: str, taken: dict[int, PseudoLabelled], counts: Counter[str]) -> None:
        """Keep the best mentions below the threshold until there are `floor` of the type."""
        sentences = {key: sentence for _, key, sentence in self.doubtful[label].heap}
        sentences |= {key: taken[key].sentence for key in sentences if key in taken}
        below = [
            (mention.score, key, i)
            for key, sentence in sentences.items()
            for i, mention in enumerate(sentence.mentions)
            if mention.label == label and mention.score and mention.score < self.policy.threshold
        ]
        for _, key, i in sorted(below, reverse=True)[: max(0, self.policy.floor - counts[label])]:
            counts[label] += 1
            taken.setdefault(key, PseudoLabelled(sentences[key])).kept.add(i)


def _rank(row: tuple[float, int, ReadSentence]) -> tuple[float, int]:
    return row[:2]
