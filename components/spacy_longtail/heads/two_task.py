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


class TwoTaskHead(Head):
    """An entity logit and a begin logit per token, and types where there are several.

    Entity and begin above 0 open an entity, entity alone continues one. Columns: entity, begin, the
    tags of a loss with a tag head, the types.
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
        tags = [self.codec.rows(gold.tags)] if self.loss.tag_head else []
        targets = np.concatenate([entity[:, None], begins[:, None], *tags], axis=1)
        target = xp.asarray(targets.astype("float32"))
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

    def _log_types(self, data: Floats2d) -> Floats2d:
        """The log probability of each type at each token. (n_tokens, n_types)"""
        typed = data[:, -len(self._types) :] if self._types else np.zeros((len(data), 1))
        return typed - logsumexp(typed)

    def decode(self, scores: Ragged, lengths: Ints1d, outside: Floats1d, score: bool) -> Decoded:
        data, lengths = to_numpy(scores.dataXd), to_numpy(lengths)
        entity = (data[:, 0] > 0) & (outside == 0)
        first = np.zeros(len(data), dtype=bool)
        kept = lengths[lengths > 0]
        first[np.cumsum(kept) - kept] = True
        follows = np.concatenate([[False], entity[:-1]]) & ~first
        begins = entity & ((data[:, 1] > 0) | ~follows)  # where there is nothing to continue, too
        log_p = self._log_types(data)
        span = np.maximum(np.cumsum(begins) - 1, 0)
        sums = np.zeros((int(begins.sum()) + 1, log_p.shape[1]))
        np.add.at(sums, span[entity], log_p[entity])
        label = sums.argmax(axis=1)[span]
        p = sigmoid(data[:, 0]) * np.exp(log_p[np.arange(len(data)), label])
        iob = np.where(begins, 3, np.where(entity, 1, 2))
        columns, _ = self.codec.gold(iob, label, lengths)
        return Decoded(columns, p if score else np.ones(len(data)))

    def marginals(self, scores: Ragged, lengths: Ints1d, outside: Floats1d) -> Floats2d:
        data = to_numpy(scores.dataXd)
        entity = sigmoid(data[:, :1]) * (outside == 0)[:, None]
        begins, typed = sigmoid(data[:, 1:2]), np.exp(self._log_types(data))
        p = np.zeros((len(data), len(self.codec)))
        p[:, :1] = 1 - entity
        by_type = p[:, 1:].reshape(len(data), len(self.codec.labels), 2)  # a view: B and I of each type
        by_type[:, :, 0] = entity * begins * typed
        by_type[:, :, 1] = entity * (1 - begins) * typed
        return p
