"""Majority or minority (MoM): a base loss plus the same loss on O tokens."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

from thinc.api import get_array_module
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors, Warnings
from ..numerics import BinaryRows, sentence_index
from ..settings import finite, keep_finite, one_of
from ..types import ClassPreset
from .base import BinaryResult
from .cross_entropy import CrossEntropy
from .token import Rows, TagLoss

Normalizer = Literal["tokens", "sentence", "fixed"]
ONormalizer = Literal["tokens", "sentence", "fixed", "o_tokens"]


@dataclass(frozen=True)
class MoM(TagLoss):
    """lam base(all tokens) + (1 - lam) base(gold-O tokens).

    With one normaliser for both terms this is the base loss weighted 1 on O and lam on entities:
    O counts 1 / lam times an entity, the reverse of inverse frequency. With a base of level "set" the
    second term is the base of the O tokens alone.

    base (Optional[TagLoss]): The loss on tokens to wrap; null is cross-entropy.
    lam (float): Share of the base term, no unit, 0 to 1. 1 is the base alone.
    normalizer (str): Divisor of the first term: the batch's "tokens", each "sentence"'s tokens
        (then the mean over sentences), or "fixed".
    o_normalizer (str): Divisor of the second term; "o_tokens" is the sentence's O tokens.
    fixed_length (int): Divisor of "fixed", in tokens.
    RETURNS (LossResult): Nats per unmasked token (with "tokens"), and the exact gradient.
    SOURCE: Nemoto et al. 2025, eq. 1-2, with the sign fixed (docs/methods.md, "Majority or minority").
    """

    base: Any = None
    lam: float = 0.2
    normalizer: Normalizer = "tokens"
    o_normalizer: ONormalizer = "tokens"
    fixed_length: int | None = None

    def __post_init__(self) -> None:
        keep_finite(self, "lam", "between 0 and 1", "1 is the base loss alone.", 0.0, 1.0)
        if self.lam == 0:
            warnings.warn(Warnings.W001, stacklevel=2)
        base = CrossEntropy() if self.base is None else self.base
        if not isinstance(base, TagLoss) or isinstance(base, MoM):
            reason = "it is MoM itself" if isinstance(base, MoM) else "it is not a loss on tokens"
            fix = "Use longtail.CrossEntropy.v1, longtail.Focal.v1 or another loss on tokens as base."
            raise ValueError(
                Errors.L002.format(who="longtail.MoM.v1", loss=base, reason=reason, fix=fix)
            )
        if base.reads_soft:
            reason, fix = "it reads soft targets", "Make this loss the base of that one."
            raise ValueError(
                Errors.L002.format(who="longtail.MoM.v1", loss=base, reason=reason, fix=fix)
            )
        one_of("normalizer", self.normalizer, get_args(Normalizer))
        one_of("o_normalizer", self.o_normalizer, get_args(ONormalizer))
        uses_fixed = "fixed" in (self.normalizer, self.o_normalizer)
        rule = "a positive number of tokens with a 'fixed' normaliser, and null without"
        fix = "The paper uses the longest sentence or 128."
        if uses_fixed:
            length = finite("fixed_length", self.fixed_length or 0, rule, fix, 1.0)
            object.__setattr__(self, "fixed_length", int(length))
        elif self.fixed_length is not None:
            value = self.fixed_length
            raise ValueError(Errors.L001.format(name="fixed_length", rule=rule, value=value, fix=fix))
        object.__setattr__(self, "base", base)
        if not self.heads:
            reason = f"it trains {' or '.join(base.heads)}, where nothing divides by a sentence's tokens"
            fix = "Use normalizer = o_normalizer = 'tokens'."
            raise ValueError(
                Errors.L002.format(who="longtail.MoM.v1", loss=base, reason=reason, fix=fix)
            )

    @property
    def heads(self) -> tuple[str, ...]:
        """Those of the base; only a head that sees whole sentences can divide by their lengths."""
        if {self.normalizer, self.o_normalizer} == {"tokens"}:
            return self.base.heads
        return tuple(head for head in self.base.heads if head in ("softmax", "sigmoid"))

    @property
    def level(self) -> str:
        return self.base.level

    @property
    def preset(self) -> ClassPreset | None:
        return self.base.preset

    @property
    def log_likelihood(self) -> bool:
        return self.lam == 1 and self.base.log_likelihood

    def bind(self, class_values: Floats1d) -> "MoM":
        bound = copy.copy(self)
        object.__setattr__(bound, "base", self.base.bind(class_values))
        return bound

    def of_gold(
        self, log_x: Floats1d, is_o: Floats1d, weight: Floats1d | float
    ) -> tuple[Floats1d, Floats1d]:
        """As the base's, each row times lam unless its gold class is O; for bases that have it."""
        f, u = self.base.of_gold(log_x, is_o, weight)
        factor = is_o + self.lam * (1 - is_o)
        return f * factor, u * factor

    def weight(self, q: Floats2d) -> Floats1d | float:
        return self.base.weight(q)

    def rows(self, logits: Floats2d, gold: Floats2d) -> Rows:
        return self.base.rows(logits, gold)

    def binary_rows(self, logits: Floats1d, targets: Floats1d) -> BinaryRows:
        f, d_rows = self.base.binary_rows(logits, targets)
        factor = 1 - targets + self.lam * targets
        return BinaryRows(f * factor, d_rows * factor)

    def of_set(self, logits: Floats1d, targets: Floats1d, mask: Floats1d) -> BinaryResult:
        first = self.base.of_set(logits, targets, mask)
        second = self.base.of_set(logits, targets, mask * (1 - targets))
        loss, d_logits = (self.lam * a + (1 - self.lam) * b for a, b in zip(first, second, strict=True))
        return BinaryResult(loss, d_logits)

    def counted(self, gold: Floats2d) -> Floats1d | float:
        return self.base.counted(gold)

    def coefficients(self, is_o: Floats1d, mask: Floats1d, lengths: Ints1d | None) -> Floats1d:
        first = self._divided(self.normalizer, mask, mask, lengths)
        second = self._divided(self.o_normalizer, is_o * mask, mask, lengths)
        return self.lam * first + (1 - self.lam) * second

    def _divided(
        self, normalizer: str, counted: Floats1d, mask: Floats1d, lengths: Ints1d | None
    ) -> Floats1d:
        """`counted` (0 or 1 a token) over the normaliser's divisor."""
        xp = get_array_module(mask)
        if normalizer == "tokens":
            return counted / xp.maximum(mask.sum(), 1.0)
        sentence = sentence_index(lengths, len(mask), mask)
        n_slots = int(sentence.max()) + 1 if len(sentence) else 1
        real = xp.bincount(sentence, weights=mask, minlength=n_slots)
        n_sentences = xp.maximum((real > 0).sum(), 1)  # those with an annotated token
        if normalizer == "fixed":
            return counted / (self.fixed_length * n_sentences)
        per_sentence = xp.bincount(sentence, weights=counted, minlength=n_slots)
        divisor = per_sentence if normalizer == "o_tokens" else real
        return counted / (xp.maximum(divisor, 1.0)[sentence] * n_sentences)
