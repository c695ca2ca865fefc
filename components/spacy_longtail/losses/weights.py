"""Class-weight presets: class counts in, class weights out."""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import NonNegativeFloat
from pydantic.dataclasses import dataclass

from ..errors import Errors
from ..settings import CHECKED

Unit = Literal["tag", "type"]
Scale = Literal["mean_one", "raw"]


def _scaled(weights: dict[str, float], counts: Mapping[str, int], scale: Scale) -> dict[str, float]:
    seen, factor = {c: w for c, w in weights.items() if counts[c] > 0}, 1.0
    if seen and scale == "mean_one":
        factor = sum(counts[c] for c in seen) / sum(counts[c] * w for c, w in seen.items())
    return {c: seen[c] * factor if c in seen else 1.0 for c in weights}


@dataclass(frozen=True, config=CHECKED)
class InverseFrequency:
    """Weights inversely proportional to the class counts of the training data (WCE-1).

    unit (str): "tag" counts B- and I- apart, "type" merges them (needed by longtail_ner).
    scale (str): "mean_one" keeps the mean weight over training tokens at 1, "raw" leaves s / s_k.
    SOURCE: Nemoto et al. 2025, section 4 (WCE-1).
    """

    needs_counts: ClassVar[bool] = True
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Tokens per class. RETURNS (dict): Weights; 1 for none."""
        total = sum(counts.values())
        return _scaled({c: total / max(n, 1) for c, n in counts.items()}, counts, self.scale)


@dataclass(frozen=True, config=CHECKED)
class LogInverseFrequency:
    """Weights log10((s - s_k) / s_k + beta) from the class counts (WCE-2).

    beta (float): Floor inside the logarithm, no unit; 1 gives log10(s / s_k). Published range 1-10.
    unit (str): "tag" or "type", as for longtail.inverse_frequency.v1.
    scale (str): "mean_one" or "raw".
    SOURCE: Nemoto et al. 2025, section 4 (WCE-2).
    """

    needs_counts: ClassVar[bool] = True
    beta: NonNegativeFloat = 1.0
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Training tokens per class. RETURNS (dict): Class weights."""
        total = sum(counts.values())
        inner = {c: (total - n) / n + self.beta if n else 1.0 for c, n in counts.items()}
        if inner and min(inner.values()) < 1:  # a negative weight would reward errors
            rule = f"at least {2 - total / max(counts.values()):.4g} for this corpus"
            fix = "A lower one gives a frequent class a negative weight."
            raise ValueError(Errors.L001.format(name="beta", rule=rule, value=self.beta, fix=fix))
        return _scaled({c: math.log10(x) for c, x in inner.items()}, counts, self.scale)


@dataclass(frozen=True, config=CHECKED)
class LabelWeights:
    """Explicit weights by entity type; types left out, and O, weigh 1.

    weights (Dict[str, float]): Weight per entity type, no unit, at least 0. "O" is accepted too.
    """

    needs_counts: ClassVar[bool] = False
    unit: ClassVar[Unit] = "type"
    weights: dict[str, NonNegativeFloat]

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): With known classes as keys. RETURNS (dict): Class weights."""
        if unknown := ", ".join(sorted(set(self.weights) - set(counts))):
            shown = {"who": "longtail.label_weights.v1", "known": ", ".join(sorted(counts))}
            raise ValueError(Errors.L203.format(setting="weights", unknown=unknown, **shown))
        return {c: self.weights.get(c, 1.0) for c in counts}
