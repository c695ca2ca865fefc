"""`longtail_posterior_gate`: flags sentences by what the primary NER before it is unsure of."""

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d

from ...corpus.sentences import sentence_lengths
from ...errors import Errors, Warnings
from ...types import Block
from ..base import UntrainedPipe
from ..label_checks import check_labels
from ..locks import Lock
from ..pipeline_checks import check_kept, components_before, find_primary
from ..scores.spans import scored_spans
from ..upstream import own_rows
from .budget import Budget, GateUsage
from .flagging import write_all_flagged
from .posterior_settings import DEFAULTS, READS, WHO, check_settings
from .posteriors import Counting, has_posteriors, sentence_mentions


class Signals(NamedTuple):
    """What speaks for a sentence, of the sentences of all documents in order."""

    expected: Floats2d  # (n_sentences, n_types), mentions of each rare type; 0 where they are not read
    least: Floats1d  # (n_sentences,), the lowest score of an entity; 1 where there is none, or not read

    @property
    def scores(self) -> Floats1d:
        """The expected mentions of all rare types, or what the least sure entity falls short of 1,
        whichever is more. (n_sentences,)
        """
        return np.maximum(self.expected.sum(axis=1), 1.0 - self.least)


@Language.factory(
    WHO,
    assigns=["doc.spans"],
    requires=["doc.sents"],
    default_config=DEFAULTS,
    default_score_weights={"weak_sents_f": 0.0, "weak_sents_p": 0.0, "weak_sents_r": 0.0},
)
def make_posterior_gate(
    nlp: Language,
    name: str,
    weak_labels: list[str],
    primary: str | None,
    signal: Literal["expected", "entity_scores", "both"],
    threshold: float,
    thresholds: dict[str, float] | None,
    min_entity_score: float,
    budget: float | None,
    spans_key: str,
    scores_key: str,
    scorer: Callable | None,
) -> "PosteriorGate":
    """A gate without weights: it flags sentences by the probabilities of the NER before it.

    weak_labels (List[str]): The rare types.
    primary (Optional[str]): The component that expects mentions: longtail_token_ner, longtail_ner or
        ner; null is the last such one before the gate.
    signal (str): "expected" flags by the expected mentions of rare types, "entity_scores" by entities of
        a low score, whatever their type, "both" by either.
    threshold (float): Least expected mentions, in a flagged sentence, of a rare type that `thresholds`
        does not name.
    thresholds (Optional[Dict[str, float]]): Least expected mentions by type; null for none. The command
        `thresholds` finds them.
    min_entity_score (float): A sentence with an entity that scores less is flagged, 0 to 1.
    budget (Optional[float]): Flag the highest scores instead, at most this share of all sentences, above
        0 and at most 1; null goes by the thresholds.
    spans_key (str): Key in doc.spans for the flagged sentences, beside those that other components flag
        there; attrs["scores"] are their scores.
    scores_key (str): Key in doc.spans with the scores of entities.
    scorer (Optional[Callable]): The scoring function.
    """
    given: Block = {
        "primary": primary,
        "threshold": threshold,
        "thresholds": thresholds,
        "min_entity_score": min_entity_score,
        "scores_key": scores_key,
    }
    settings = check_settings(weak_labels, signal, budget, spans_key, given)
    return PosteriorGate(nlp, name, scorer=scorer, **settings)


class PosteriorGate(UntrainedPipe):
    """Scores sentences by what the components before it say, and keeps the flagged ones in doc.spans.

    It has no model and is not trained; a document without sentence boundaries is one sentence. With a
    budget the order of sentences counts: what was seen decides on what comes. That state is of this
    process, is moved by `set_annotations` alone, and is not saved: a loaded gate begins with the scores
    that the command `thresholds` gave it. Threads share it: which of their sentences comes first is
    chance.
    """

    def __init__(
        self, nlp: Language, name: str = WHO, *, scorer: Callable | None = None, **settings: object
    ) -> None:
        self.nlp = nlp
        self.vocab = nlp.vocab
        self.name = name
        self.scorer = scorer
        own = {setting: value for setting, value in DEFAULTS.items() if setting != "scorer"}
        # start: scores of development data, for a budget
        self.cfg: Block = {**own, "start": None, **settings}
        self._warned: set[str] = set()
        self._lock = Lock()
        self.restart()

    @property
    def labels(self) -> tuple[str, ...]:
        """The rare types."""
        return tuple(self.cfg["weak_labels"])

    def add_label(self, label: str) -> int:
        """The rare types are a setting. RETURNS (int): 0 for one of them."""
        if label not in self.labels:
            raise ValueError(Errors.L206.format(who=self.name, label=label))
        return 0

    @property
    def reads(self) -> tuple[str, ...]:
        """The signals that are read: "expected", "entity_scores" or both."""
        return tuple(READS) if self.cfg["signal"] == "both" else (self.cfg["signal"],)

    @property
    def usage(self) -> GateUsage:
        """Sentences seen and flagged since the gate was loaded or began anew, in this process."""
        return self._usage if self._budget is None else self._budget.usage

    def restart(self) -> None:
        """Begin anew: nothing is seen yet, and a budget starts from the scores of development data."""
        self._usage = GateUsage()
        share = self.cfg["budget"]
        self._budget = None if share is None else Budget(share, self.cfg["start"] or ())

    def attach(self, nlp: Language) -> None:
        """Read the components of this pipeline: of use where the gate was sourced from another one.

        nlp (Language): A pipeline with the gate in it.
        """
        self.nlp = nlp
        self._warned.clear()
        self._check_pipeline()

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Check that what the gate reads stands before it. There is nothing to learn.

        get_examples (Callable): The training examples, which are not looked at.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): What `init labels` wrote; must be the pipe's own `weak_labels`.
        """
        check_labels(labels, self.labels, WHO)
        self.attach(self.nlp if nlp is None else nlp)
        self.cfg["start"] = None
        self.restart()

    def _check_pipeline(self) -> None:
        check_kept(self.nlp, self, self.cfg["spans_key"])
        if "expected" in self.reads:
            self._primary()
        if "entity_scores" in self.reads:
            key = self.cfg["scores_key"]
            if find_primary(self.nlp, self, key) is None:
                raise ValueError(Errors.L283.format(who=self.name, key=key))

    def _primary(self) -> tuple[Counting, list[int]]:
        """The component that mentions are expected by, and which of its types are the rare ones."""
        before, name = components_before(self.nlp, self), self.cfg["primary"]
        if name is None:
            counting = [n for n, p in before.items() if has_posteriors(p) and not _is_gated(p)]
            name = counting[-1] if counting else None
        primary = before.get(name or "")
        if not has_posteriors(primary):
            found = self.cfg["primary"] or ", ".join(before) or "none"
            raise ValueError(Errors.L281.format(who=self.name, found=found))
        known = list(primary.labels)
        if unknown := [label for label in self.labels if label not in known]:
            shown = {"unknown": ", ".join(unknown), "primary": name, "known": ", ".join(known) or "none"}
            raise ValueError(Errors.L282.format(who=self.name, **shown))
        return primary, [known.index(label) for label in self.labels]

    def predict(self, docs: Iterable[Doc]) -> Signals:
        """What speaks for each sentence of all documents, in order. Nothing is changed."""
        docs = list(docs)
        check_kept(self.nlp, self, self.cfg["spans_key"])
        if any(doc.vocab is not self.nlp.vocab for doc in docs):
            self._warn(Warnings.W060.format(name=self.name))
        n = sum(len(sentence_lengths(doc)) for doc in docs)
        expected, least = np.zeros((n, len(self.labels))), np.ones(n)
        if "expected" in self.reads:
            primary, columns = self._primary()
            with own_rows(self.nlp, primary, docs, self):
                expected = sentence_mentions(primary, docs)[:, columns]
        if "entity_scores" in self.reads and docs:
            least = np.concatenate([self._least(doc) for doc in docs])
        return Signals(expected, least)

    def _least(self, doc: Doc) -> Floats1d:
        """The lowest score of an entity in each sentence. (n_sentences,)"""
        key = self.cfg["scores_key"]
        if key not in doc.spans:
            raise ValueError(Errors.L283.format(who=self.name, key=key))
        ends = np.cumsum(sentence_lengths(doc))
        least = np.ones(len(ends))
        if ents := scored_spans(doc, key):
            starts, scores = np.asarray([(ent.start, ent.score) for ent in ents]).T
            np.minimum.at(least, np.searchsorted(ends, starts, side="right"), scores)
        return least

    def flags(self, signals: Signals) -> np.ndarray:
        """Whether each sentence reaches a threshold. (n_sentences,)"""
        flags = np.zeros(len(signals.least), dtype=bool)
        if "expected" in self.reads:
            own = self.cfg["thresholds"] or {}
            limits = [own.get(label, self.cfg["threshold"]) for label in self.labels]
            flags |= (signals.expected >= np.asarray(limits)).any(axis=1)
        if "entity_scores" in self.reads:
            flags |= signals.least < self.cfg["min_entity_score"]
        return flags

    def set_annotations(self, docs: Iterable[Doc], scores: Signals) -> None:
        """Add the flagged sentences to doc.spans[spans_key], with their scores."""
        if self._budget is None:
            flags = self.flags(scores)
            with self._lock:
                seen, flagged = self._usage
                self._usage = GateUsage(seen + len(flags), flagged + int(flags.sum()))
        else:
            if not self.cfg["start"]:
                n = int(np.ceil(1 / self._budget.share))
                self._warn(Warnings.W061.format(name=self.name, n=n))
            flags = self._budget.flag(scores.scores)
        write_all_flagged(docs, self.cfg["spans_key"], self.name, flags, scores.scores)

    def _warn(self, text: str) -> None:
        """Once."""
        with self._lock:
            is_new = text not in self._warned
            self._warned.add(text)
        if is_new:
            warnings.warn(text, stacklevel=4)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PosteriorGate":
        """path (Union[str, Path]): What `to_disk` wrote."""
        super().from_disk(path, exclude=exclude)
        self.restart()
        return self

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "PosteriorGate":
        """data (bytes): What `to_bytes` gave."""
        super().from_bytes(data, exclude=exclude)
        self.restart()
        return self


def _is_gated(pipe: object) -> bool:
    """Whether a component reads flagged sentences alone: elsewhere its probabilities mean little."""
    return getattr(pipe, "cfg", {}).get("spans_key") is not None
