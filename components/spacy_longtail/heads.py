"""Heads: how the outputs of a token classifier become a loss in training, and tags in prediction."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from thinc.api import Model, get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from .chains import PathSums, Transitions, best_legal, viterbi
from .layers import Lattice, with_transitions
from .losses import AUCMargin, CrossEntropy, OneVersusRestFocal
from .losses.chain import chain_loss
from .numerics import logsumexp
from .tags import ILLEGAL, TagCodec
from .types import TwoTaskState


class Gold(NamedTuple):
    tags: Ints1d  # (n_tokens,), the column of the gold tag
    mask: Floats1d  # (n_tokens,), 0.0 without annotation
    lengths: Ints1d  # (n_sentences,)


class Trained(NamedTuple):
    loss: float  # mean over annotated tokens
    d_scores: Any  # as the model's output
    state: TwoTaskState


class Decoded(NamedTuple):
    tags: Ints1d  # (n_tokens,), columns of a legal tag sequence a sentence
    p: Floats1d  # (n_tokens,), probability of that tag


class Head(ABC):
    """One of the heads of `longtail_token_ner`; it has no weights but those it adds to the model.

    codec (TagCodec): Labels and scheme.
    loss (TagLoss): With its class values bound, if it has any.
    """

    name: ClassVar[str]
    default_loss: ClassVar[type] = CrossEntropy
    schemes: ClassVar[tuple[str, ...]] = ("BIO", "BILUO")
    unlearnt: ClassVar[float] = 0.0  # the value of an output that was added after training

    def __init__(self, codec: TagCodec, loss: Any) -> None:
        self.codec = codec
        self.loss = loss
        self.legality = codec.legality()

    @property
    def outputs(self) -> list[str]:
        """A name for each output of the model, in order."""
        return self.codec.tags

    @staticmethod
    def attach(model: Model) -> Model:
        """The model with what the head adds to it."""
        return model

    @abstractmethod
    def train(self, scores: Any, gold: Gold, loss: Any, state: TwoTaskState) -> Trained:
        """Loss and gradient of one batch."""

    @abstractmethod
    def decode(
        self, scores: Any, lengths: Ints1d, outside: Floats1d, score: bool, cfg: Mapping[str, Any]
    ) -> Decoded:
        """Legal tags and their probabilities.

        lengths (Ints1d): (n_sentences,), tokens a sentence.
        outside (Floats1d): (n_tokens,), 1.0 where no entity may stand.
        score (bool): Whether the probabilities are wanted.
        cfg (Mapping): The pipe's settings: thresholds and repair of two_task.
        """

    @staticmethod
    def scaled(d_scores: Any, factor: float) -> Any:
        """A gradient on the model's output, times a number."""
        return Ragged(d_scores.dataXd * factor, d_scores.lengths)

    @staticmethod
    def logits(scores: Any) -> Any:
        """The rows of the model's output, one a token."""
        return scores

    def is_finite(self, d_scores: Any) -> bool:
        """Whether a gradient on the model's output has no overflow in it."""
        data = self.logits(d_scores).dataXd
        return bool(get_array_module(data).isfinite(data).all())

    def _adjusted(self, logits: Floats2d, outside: Floats1d) -> Floats2d:
        """The logits to decode: moved as the loss says, every tag but O shut where nothing may stand."""
        xp = get_array_module(logits)
        if self.loss.prediction_offset() is not None:
            logits = logits + xp.asarray(self.loss.prediction_offset(), dtype=logits.dtype)
        if outside.any():
            logits = logits.copy()
            logits[xp.asarray(outside > 0), 1:] += ILLEGAL
        return logits

    def _legality(self, xp: Any) -> Transitions:
        return Transitions(*(xp.asarray(t) for t in self.legality))


class SoftmaxHead(Head):
    """One softmax a token, decoded over legal tag sequences."""

    name = "softmax"

    def train(self, scores: Ragged, gold: Gold, loss: Any, state: TwoTaskState) -> Trained:
        xp = get_array_module(scores.dataXd)
        rows, mask = xp.asarray(self.codec.rows(gold.tags)), xp.asarray(gold.mask)
        result = loss(scores.dataXd, rows, mask, gold.lengths)
        return Trained(result.loss, Ragged(result.d_logits, scores.lengths), state)

    def decode(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, score: bool, cfg: Mapping[str, Any]
    ) -> Decoded:
        logits = self._adjusted(scores.dataXd, outside)
        xp = get_array_module(logits)
        columns = best_legal(logits, lengths, self._legality(xp))
        p = self._probability(logits, columns) if score else xp.ones(len(columns))
        return Decoded(to_numpy(columns), to_numpy(p))

    def _probability(self, logits: Floats2d, columns: Ints1d) -> Floats1d:
        xp = get_array_module(logits)
        return xp.exp(logits[xp.arange(len(columns)), columns] - logsumexp(logits)[:, 0])


class SigmoidHead(SoftmaxHead):
    """One sigmoid a tag: the most probable legal sequence is that of the highest logits."""

    name = "sigmoid"
    default_loss = OneVersusRestFocal
    unlearnt = -5.0  # 0 would be a probability of 0.5

    def _probability(self, logits: Floats2d, columns: Ints1d) -> Floats1d:
        xp = get_array_module(logits)
        return xp.exp(-xp.logaddexp(0, -logits[xp.arange(len(columns)), columns]))


class CRFHead(Head):
    """A linear chain with learnt transitions; illegal ones are shut in training and prediction."""

    name = "crf"

    @staticmethod
    def attach(model: Model) -> Model:
        return with_transitions(model)

    @staticmethod
    def scaled(d_scores: Lattice, factor: float) -> Lattice:
        transitions = Transitions(*(t * factor for t in d_scores.transitions))
        return Lattice(Head.scaled(d_scores.logits, factor), transitions)

    @staticmethod
    def logits(scores: Any) -> Any:
        return scores.logits

    def _legal(self, scores: Lattice) -> Transitions:
        return scores.transitions.plus(self._legality(get_array_module(scores.logits.dataXd)))

    def train(self, scores: Lattice, gold: Gold, loss: Any, state: TwoTaskState) -> Trained:
        logits = scores.logits.dataXd
        xp = get_array_module(logits)
        rows, mask = xp.asarray(self.codec.rows(gold.tags)), xp.asarray(gold.mask)
        result = chain_loss(loss, logits, rows, mask, gold.lengths, self._legal(scores))
        d_logits = Ragged(result.d_scores, scores.logits.lengths)
        return Trained(result.loss, Lattice(d_logits, result.d_transitions), state)

    def decode(
        self, scores: Lattice, lengths: Ints1d, outside: Floats1d, score: bool, cfg: Mapping[str, Any]
    ) -> Decoded:
        logits = self._adjusted(scores.logits.dataXd, outside)
        xp, transitions = get_array_module(logits), self._legal(scores)
        columns = viterbi(logits, lengths, transitions)
        p = xp.ones(len(columns))
        if score:
            log_mu = PathSums(logits, lengths, transitions).log_marginals
            p = xp.exp(log_mu[xp.arange(len(columns)), columns])
        return Decoded(to_numpy(columns), to_numpy(p))


class TwoTaskHead(Head):
    """An entity logit and a begin logit a token, and types where the output is typed.

    Entity and begin above their thresholds open an entity, entity alone continues one. Columns: entity,
    begin, the tags of a loss with a tag head, the types.
    """

    name = "two_task"
    default_loss = AUCMargin
    schemes = ("BIO",)

    @property
    def outputs(self) -> list[str]:
        tags = self.codec.tags if self.loss.tag_head else []
        return ["entity", "begin", *tags, *(f"type {label}" for label in self._types)]

    @property
    def _types(self) -> tuple[str, ...]:
        """A single type needs no outputs."""
        return self.codec.labels if len(self.codec.labels) > 1 else ()

    def train(self, scores: Ragged, gold: Gold, loss: Any, state: TwoTaskState) -> Trained:
        data = scores.dataXd
        xp = get_array_module(data)
        n_types = len(self._types)
        n_scores = data.shape[1] - n_types
        entity = gold.tags > 0
        begins = gold.tags % 2 == 1  # BIO: O, then B and I of each type
        targets = [entity[:, None], begins[:, None]]
        if self.loss.tag_head:
            targets.append(self.codec.rows(gold.tags))
        target = xp.asarray(np.concatenate(targets, axis=1).astype("float32"))
        result, state = loss(data[:, :n_scores], target, xp.asarray(gold.mask), state)
        d_scores = xp.zeros_like(data)
        d_scores[:, :n_scores] = result.d_logits
        total = result.loss
        if n_types:
            label = xp.asarray(np.maximum(gold.tags - 1, 0) // 2)
            one_hot = xp.eye(n_types, dtype=data.dtype)[label]
            typed = CrossEntropy()(data[:, n_scores:], one_hot, xp.asarray(gold.mask * entity))
            d_scores[:, n_scores:] = typed.d_logits
            total += typed.loss
        return Trained(total, Ragged(d_scores, scores.lengths), state)

    def decode(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, score: bool, cfg: Mapping[str, Any]
    ) -> Decoded:
        data = to_numpy(scores.dataXd)
        entity_at, begin_at = self._thresholds(cfg)
        entity = (data[:, 0] > entity_at) & (outside == 0)
        begins = entity & (data[:, 1] > begin_at)
        first = np.zeros(len(data), dtype=bool)
        kept = to_numpy(lengths)[to_numpy(lengths) > 0]
        first[np.cumsum(kept) - kept] = True
        opens = entity & (first | ~np.concatenate([[False], entity[:-1]]))  # nothing before to continue
        if cfg["repair"] == "drop":
            run = np.cumsum(opens)  # a run of entity tokens is lost up to its first begin
            n_begun = np.cumsum(begins)
            before_run = np.concatenate([[0], (n_begun - begins)[opens]])[run]
            entity &= n_begun > before_run
        else:
            begins |= opens
        p = np.exp(-np.logaddexp(0, entity_at - data[:, 0])) if score else np.ones(len(data))
        label = np.zeros(len(data), dtype="int64")
        n_types = len(self._types)
        if n_types:
            log_p = data[:, -n_types:] - logsumexp(data[:, -n_types:])
            span = np.maximum(np.cumsum(begins) - 1, 0)
            sums = np.zeros((int(begins.sum()) + 1, n_types))
            np.add.at(sums, span[entity], log_p[entity])
            label = sums.argmax(axis=1)[span]
            p = p * np.exp(log_p[np.arange(len(data)), label])
        columns = np.where(entity, 1 + 2 * label + ~begins, 0)
        return Decoded(columns, p)

    def _thresholds(self, cfg: Mapping[str, Any]) -> tuple[float, float]:
        """In logits: those that are set, else 0.5 of a sigmoid, or midway between the classes' means."""
        state = TwoTaskState(**cfg["state"])
        found = []
        for i, name in enumerate(("entity_threshold", "begin_threshold")):
            value = cfg[name]
            if self.loss.activation == "none":
                found.append((state.a[i] + state.b[i]) / 2 if value is None else value)
            else:
                p = min(max(0.5 if value is None else value, 1e-9), 1 - 1e-9)
                found.append(float(np.log(p) - np.log1p(-p)))
        return found[0], found[1]


HEADS: dict[str, type[Head]] = {h.name: h for h in (SoftmaxHead, SigmoidHead, CRFHead, TwoTaskHead)}
