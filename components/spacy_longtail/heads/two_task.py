"""The two-task head."""

from collections.abc import Sequence

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..losses import AUCMargin, CrossEntropy
from ..losses.two_task import TwoTaskLoss
from ..numerics import logsumexp, sigmoid
from ..types import TwoTaskState
from .base import UNLIKELY, Decoded, Gold, Head, Trained


class TwoTaskHead(Head[TwoTaskLoss]):
    """An entity logit and a begin logit per token, and types where the output is typed.

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

    def fresh(self, before: Sequence[str]) -> list[float]:
        """A type that was alone had no output: no other one takes half of its probability."""
        first = f"type {self.codec.labels[0]}"
        if first in before:
            return super().fresh(before)
        others = {f"type {label}" for label in self.codec.labels[1:]}
        return [UNLIKELY if name in others else 0.0 for name in self.outputs]

    def train(self, scores: Ragged, gold: Gold, loss: TwoTaskLoss, state: TwoTaskState) -> Trained:
        data = scores.dataXd
        xp = get_array_module(data)
        n_types = len(self._types)
        n_scores = data.shape[1] - n_types
        entity, begins, label = self.codec.token_tags(gold.tags)
        targets = [entity[:, None], begins[:, None]]
        if self.loss.tag_head:
            targets.append(self.codec.rows(gold.tags))
        target = xp.asarray(np.concatenate(targets, axis=1).astype("float32"))
        result, state = loss(data[:, :n_scores], target, xp.asarray(gold.mask), state)
        d_scores = xp.zeros_like(data)
        d_scores[:, :n_scores] = result.d_logits
        total = result.loss
        if n_types:
            one_hot = xp.eye(n_types, dtype=data.dtype)[xp.asarray(label)]
            typed = CrossEntropy()(data[:, n_scores:], one_hot, xp.asarray(gold.mask * entity))
            d_scores[:, n_scores:] = typed.d_logits
            total += typed.loss
        return Trained(total, Ragged(d_scores, scores.lengths), state)

    def decode(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, score: bool, state: TwoTaskState
    ) -> Decoded:
        data = to_numpy(scores.dataXd)
        entity_at, begin_at = self._thresholds(state)
        entity = (data[:, 0] > entity_at) & (outside == 0)
        begins = entity & (data[:, 1] > begin_at)
        first = np.zeros(len(data), dtype=bool)
        kept = to_numpy(lengths)[to_numpy(lengths) > 0]
        first[np.cumsum(kept) - kept] = True
        opens = entity & (first | ~np.concatenate([[False], entity[:-1]]))  # nothing before to continue
        begins |= opens
        p = sigmoid(data[:, 0] - entity_at) if score else np.ones(len(data))
        label = np.zeros(len(data), dtype="int64")
        n_types = len(self._types)
        if n_types:
            log_p = data[:, -n_types:] - logsumexp(data[:, -n_types:])
            span = np.maximum(np.cumsum(begins) - 1, 0)
            sums = np.zeros((int(begins.sum()) + 1, n_types))
            np.add.at(sums, span[entity], log_p[entity])
            label = sums.argmax(axis=1)[span]
            p = p * np.exp(log_p[np.arange(len(data)), label])
        iob = np.where(begins, 3, np.where(entity, 1, 2))
        columns, _ = self.codec.gold(iob, label, to_numpy(lengths))
        return Decoded(columns, p)

    def marginals(
        self, scores: Ragged, lengths: Ints1d, outside: Floats1d, state: TwoTaskState
    ) -> Floats2d:
        data = to_numpy(scores.dataXd)
        entity_at, begin_at = self._thresholds(state)
        entity = sigmoid(data[:, :1] - entity_at) * (outside == 0)[:, None]
        begins = sigmoid(data[:, 1:2] - begin_at)
        n_types = len(self._types)
        typed = np.ones((len(data), 1))
        if n_types:
            typed = np.exp(data[:, -n_types:] - logsumexp(data[:, -n_types:]))
        p = np.zeros((len(data), len(self.codec)))
        p[:, :1] = 1 - entity
        by_type = p[:, 1:].reshape(len(data), len(self.codec.labels), 2)  # a view: B and I of each type
        by_type[:, :, 0] = entity * begins * typed
        by_type[:, :, 1] = entity * (1 - begins) * typed
        return p

    def _thresholds(self, state: TwoTaskState) -> tuple[float, float]:
        """In logits: that of a probability of 0.5, or midway between the classes' means."""
        if self.loss.activation != "none":
            return 0.0, 0.0
        entity, begin = ((a + b) / 2 for a, b in zip(state.a, state.b, strict=True))
        return entity, begin
