"""Silver sentences: what a teacher is sure of in text that nobody labelled, as training data.

An entity counts where its score reaches the threshold, and a token is O where the teacher says so with
that probability. All other tokens are missing: neither right nor wrong for the student. So are those of
an entity without a score.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

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
from .units import lot

LEAST = 1e-6  # threshold


class Mention(NamedTuple):
    start: int  # first token in its sentence
    end: int  # one past the last
    label: str
    score: float | None  # null where the teacher gives none: it is no silver


@dataclass
class Sentence:
    """A sentence of the pool as the teacher reads it."""

    words: list[str]
    spaces: list[bool]
    mentions: list[Mention]  # of declared types
    sure: Ints1d  # (n_tokens,) bool: O, as far as the threshold asks
    log_p: Floats2d | None = None  # (n_tokens, n_tags), float16, of the soft targets

    @property
    def text(self) -> str:
        return "".join(w + " " * s for w, s in zip(self.words, self.spaces, strict=True))

    @property
    def least(self) -> float:
        """The least score of its entities, of those that have one."""
        return min((m.score for m in self.mentions if m.score is not None), default=1.0)

    def doc(self, vocab: Vocab, kept: Collection[int], tags: Sequence[str]) -> Doc:
        """The sentence as training data, the scores of its entities in doc.spans.

        kept (Collection[int]): Which of the mentions are annotated.
        tags (Sequence[str]): Names of the soft targets' columns.
        """
        spaces = [*self.spaces[:-1], False]
        starts: list[Any] = [i == 0 for i in range(len(self.words))]
        made = Doc(vocab, words=self.words, spaces=spaces, sent_starts=starts)
        ents = [
            Span(made, m.start, m.end, label=m.label) for i, m in enumerate(self.mentions) if i in kept
        ]
        outside = [made[a:b] for a, b in _runs(self.sure)]
        made.set_ents(ents, outside=outside, default="missing")
        scored = [
            ScoredSpan(m.start, m.end, m.label, m.score, ())
            for i, m in enumerate(self.mentions)
            if i in kept and m.score is not None
        ]
        write_scores(made, ENTITY_SCORES, scored)
        if self.log_p is not None:
            write_soft(made, tags, self.log_p)
        return made

    def as_data(self) -> dict[str, Any]:
        """All of it, as msgpack holds it."""
        return {**vars(self), "mentions": [tuple(m) for m in self.mentions]}

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "Sentence":
        """What `as_data` gave."""
        return cls(**{**data, "mentions": [Mention(*row) for row in data["mentions"]]})


def _runs(flags: Ints1d) -> list[tuple[int, int]]:
    """First and one past the last of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype("int8"), [0]])))
    return [(a, b) for a, b in pairwise(edges.tolist()) if flags[a]]


@dataclass(frozen=True)
class Policy:
    """Which sentences are silver.

    threshold (float): Least score of an entity, and least probability of O.
    cap (int): Most silver mentions of a type.
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
class Chosen:
    """A silver sentence, and which of its mentions are annotated."""

    sentence: Sentence
    kept: set[int] = field(default_factory=set)


class Selection:
    """The sentences that may be silver, as they stream by: bounded in memory, the result as if all of
    them had been kept.

    A sentence is wanted for a type only while fewer than `cap` mentions of the type stand in sentences
    that rank above it, so the first `cap` sentences of each type are enough.

    policy (Policy): What is wanted. labels (Sequence[str]): The declared types.
    """

    def __init__(self, policy: Policy, labels: Sequence[str]) -> None:
        self.policy, self.labels = policy, list(labels)
        self.sure: dict[str, Best[Sentence]] = {label: Best(policy.cap) for label in labels}
        self.doubtful: dict[str, Best[Sentence]] = {label: Best(policy.floor) for label in labels}
        self.empty: Best[Sentence] = Best(ceil(self._n_empty(policy.cap * len(self.labels))))

    def _n_empty(self, n: int) -> float:
        return n * self.policy.empty / (1 - self.policy.empty)

    def add(self, sentence: Sentence, key: int) -> None:
        """key (int): What its text is known by."""
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

    @property
    def _kept(self) -> dict[str, Best[Sentence]]:
        """All that is kept, by a name of its own."""
        return {
            **{f"sure {label}": own for label, own in self.sure.items()},
            **{f"doubtful {label}": own for label, own in self.doubtful.items()},
            "empty": self.empty,
        }

    def as_data(self) -> dict[str, Any]:
        """What is kept, as msgpack holds it: each sentence once, whatever it is kept for."""
        places: dict[int, int] = {}
        sentences: list[dict[str, Any]] = []

        def place_of(sentence: Sentence) -> int:
            at = places.setdefault(id(sentence), len(sentences))
            if at == len(sentences):
                sentences.append(sentence.as_data())
            return at

        rows = {name: own.as_rows(place_of) for name, own in self._kept.items()}
        return {"best": rows, "sentences": sentences}

    def take(self, data: dict[str, Any]) -> None:
        """Become what `as_data` gave."""
        sentences = [Sentence.of_data(own) for own in data["sentences"]]
        for name, own in self._kept.items():
            own.take(data["best"][name], sentences.__getitem__)

    def choose(self) -> list[Chosen]:
        """Sentences with entities, best first; then those that fill up a type; then those without."""
        taken: dict[int, Chosen] = {}
        counts: Counter[str] = Counter()
        rows = sorted((row for own in self.sure.values() for row in own.heap), key=_rank)
        ranked = {key: (score, s) for score, key, s in rows}  # of several readings of a text the surest
        order = sorted(((score, key) for key, (score, _) in ranked.items()), reverse=True)
        for _, key in order:
            sentence = ranked[key][1]
            kept = set()
            for i, mention in enumerate(sentence.mentions):
                is_sure = mention.score is not None and mention.score >= self.policy.threshold
                if is_sure and counts[mention.label] < self.policy.cap:
                    counts[mention.label] += 1
                    kept.add(i)
            if kept:
                taken[key] = Chosen(sentence, kept)
        for label in self.labels:
            self._fill_up(label, taken, counts)
        left = [row for row in sorted(self.empty.heap, reverse=True, key=_rank) if row[1] not in taken]
        wanted = round(self._n_empty(len(taken)))
        return [*taken.values(), *(Chosen(sentence) for _, _, sentence in left[:wanted])]

    def _fill_up(self, label: str, taken: dict[int, Chosen], counts: Counter[str]) -> None:
        """Keep the best mentions below the threshold until there are `floor` of the type."""
        found = [
            (mention.score, key, i)
            for _, key, sentence in self.doubtful[label].heap
            for i, mention in enumerate((taken[key].sentence if key in taken else sentence).mentions)
            if mention.label == label and mention.score and mention.score < self.policy.threshold
        ]
        sentences = {key: sentence for _, key, sentence in self.doubtful[label].heap}
        for _, key, i in sorted(found, reverse=True)[: max(0, self.policy.floor - counts[label])]:
            counts[label] += 1
            taken.setdefault(key, Chosen(sentences[key])).kept.add(i)


def _rank(row: tuple[float, int, Sentence]) -> tuple[float, int]:
    return row[:2]
