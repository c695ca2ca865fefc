"""The two-task head."""

from collections.abc import Sequence

import numpy as np
from thinc.api import get_array_module, to_numpy
from thinc.types import Floats1d, Floats2d, Ints1d, Ragged

from ..losses import AUCMargin, CrossEntropy, TwoTaskGold, TwoTaskLoss
from ..losses.two_task import take_mean
from ..numerics import logsumexp, sigmoid
from ..types import TwoTaskState
from .base import UNLIKELY, Decoded, Gold, Head, Trained


class TwoTaskHead(Head[Ragged]):
    """An entity logit and a begin logit per token, and types where there are several.

    Entity and begin above 0 open an entity, entity alone continues one. Columns: entity, begin, the
    tags of a loss with a tag head, the types.
    """

    name = "two_task"
    kinds = (TwoTaskLoss,)
    needs = "a two-task loss"
    default_loss = AUCMargin
    schemes = ("BIO",)
    formula: TwoTaskLoss

    @property
    def outputs(self) -> list[str]:
        tags = self.codec.tags if self.formula.has_tag_head else []
        return ["entity", "begin", *tags, *(f"type {label}" for label in self._types)]

    @property
    def _types(self) -> tuple[str, ...]:
        """Return the types that have outputs: none if there is a single one."""
        return self.codec.labels if len(self.codec.labels) > 1 else ()

    def initial_biases(self, before: Sequence[str]) -> list[float]:
        """Return the bias of each new output, as `Head.initial_biases`.

        A type that was alone had no output: no other one takes half of its probability.
        """
        first = f"type {self.codec.labels[0]}"
        if first in before:
            return super().initial_biases(before)
        others = {f"type {label}" for label in self.codec.labels[1:]}
        return [UNLIKELY if name in others else 0.0 for name in self.outputs]

    def train(self, scores: Ragged, gold: Gold, state: TwoTaskState) -> Trained[Ragged]:
        """Return loss and gradient of a batch, times its number of annotated tokens.

        The losses are of a batch, not sums over tokens; so the loss column grows with the tokens as
        that of other heads.
        """
        data = scores.dataXd
        xp = get_array_module(data)
        n_scores = data.shape[1] - len(self._types)
        entity, begin, label = self.codec.token_tags(gold.tags)
        entity, begin, label, tags, mask = map(xp.asarray, (entity, begin, label, gold.tags, gold.mask))
        answers = TwoTaskGold(entity.astype("float32"), begin.astype("float32"), tags)
        d_scores = xp.zeros_like(data)
        loss, d_scores[:, :n_scores], state = self.formula(data[:, :n_scores], answers, mask, state)
        if self._types:
            rows = CrossEntropy().rows(data[:, n_scores:], label)
            typed, d_scores[:, n_scores:] = take_mean(rows, mask * entity)
            loss += typed
        n_tokens = float(gold.mask.sum())
        return Trained(loss * n_tokens, Ragged(d_scores * n_tokens, scores.lengths), state)

    def _log_types(self, data: Floats2d) -> Floats2d:
        """Return the log probability of each type at each token, shape (n_tokens, n_types)."""
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
        columns, _ = self.codec.encode(iob, label, lengths)
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
