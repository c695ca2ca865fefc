"""Class-weight presets: class counts in, class weights out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..errors import Errors
from ..settings import finite, keep_finite, one_of
from ..types import ClassPreset

Unit = Literal["tag", "type"]
Scale = Literal["mean_one", "class_mean_one", "raw"]


def _scaled(weights: dict[str, float], counts: Mapping[str, int], scale: Scale) -> dict[str, float]:
    seen = {c: w for c, w in weights.items() if counts[c] > 0}
    factor = 1.0
    if seen and scale == "mean_one":
        factor = sum(counts[c] for c in seen) / sum(counts[c] * w for c, w in seen.items())
    elif seen and scale == "class_mean_one":
        factor = len(seen) / sum(seen.values())
    return {c: seen[c] * factor if c in seen else 1.0 for c in weights}


class WeightPreset:
    """What the presets share."""

    unit: Unit
    needs_counts = True

    def __post_init__(self) -> None:
        one_of("unit", self.unit, ("tag", "type"))
        one_of("scale", getattr(self, "scale", "raw"), ("mean_one", "class_mean_one", "raw"))

    def default(self, resolved: Mapping[str, float]) -> float:
        """The weight of a class that was not known when weights were resolved."""
        return 1.0


def check_weights(weights: object) -> None:
    """Refuse anything but a class-weight preset."""
    if weights is not None and not isinstance(weights, ClassPreset):
        rule, fix = "a class-weight preset or null", "Use @misc = longtail.inverse_frequency.v1."
        raise ValueError(Errors.L001.format(name="weights", rule=rule, value=weights, fix=fix))


@dataclass(frozen=True)
class InverseFrequency(WeightPreset):
    """Weights inversely proportional to the class counts of the training data (WCE-1).

    unit (str): "tag" counts B- and I- apart, "type" merges them (needed by longtail_ner).
    scale (str): "mean_one" keeps the mean weight over training tokens at 1, "class_mean_one" the
        mean over classes; "raw" leaves s / s_k.
    SOURCE: Nemoto et al. 2025, section 4 (WCE-1).
    """

    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Training tokens per class. RETURNS (dict): Weight per class;
        1.0 for a class without a token."""
        total = sum(counts.values())
        return _scaled({c: total / max(n, 1) for c, n in counts.items()}, counts, self.scale)


@dataclass(frozen=True)
class LogInverseFrequency(WeightPreset):
    """Weights log10((s - s_k) / s_k + beta) from the class counts (WCE-2).

    beta (float): Floor inside the logarithm, no unit; 1 gives log10(s / s_k). Published range 1-10.
    unit (str): "tag" or "type", as for longtail.inverse_frequency.v1.
    scale (str): "mean_one", "class_mean_one" or "raw".
    SOURCE: Nemoto et al. 2025, section 4 (WCE-2).
    """

    beta: float = 1.0
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def __post_init__(self) -> None:
        super().__post_init__()
        fix = "The paper searches 1 to 10."
        keep_finite(self, "beta", "a finite number of at least 0", fix, 0.0)

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Training tokens per class. RETURNS (dict): Weight per class."""
        total = sum(counts.values())
        raw = {}
        for label, n in counts.items():
            inner = (total - n) / n + self.beta if n else 1.0
            raw[label] = math.log10(inner) if inner > 0 else -math.inf
            if raw[label] < 0:
                raise ValueError(
                    Errors.L006.format(
                        beta=self.beta, label=label, weight=raw[label], least=2 - total / n
                    )
                )
        return _scaled(raw, counts, self.scale)


@dataclass(frozen=True)
class EffectiveNumber(WeightPreset):
    """Weights (1 - beta) / (1 - beta^s_k), the inverse of the effective number of tokens of a class.

    beta (float): Overlap between tokens, no unit, 0 <= beta < 1. 0 weighs all classes equally, towards 1
        it is the inverse frequency. Published values 0.9 to 0.9999.
    unit (str): "tag" or "type", as for longtail.inverse_frequency.v1.
    scale (str): "mean_one", "class_mean_one" (as published) or "raw".
    SOURCE: Cui et al. 2019, arXiv:1901.05555, eq. 2.
    """

    beta: float = 0.999
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def __post_init__(self) -> None:
        super().__post_init__()
        below_one = math.nextafter(1.0, 0.0)
        keep_finite(self, "beta", "at least 0 and below 1", "Try 0.999.", 0.0, below_one)

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Training tokens per class. RETURNS (dict): Weight per class;
        1.0 for a class without a token."""
        log_beta = math.log(self.beta) if self.beta else -math.inf
        raw = {c: (1 - self.beta) / -math.expm1(max(n, 1) * log_beta) for c, n in counts.items()}
        return _scaled(raw, counts, self.scale)


@dataclass(frozen=True)
class LabelWeights(WeightPreset):
    """Explicit weights by entity type; types left out, and O, weigh 1.

    weights (Dict[str, float]): Weight per entity type, no unit, at least 0. "O" is accepted too.
    """

    weights: dict[str, float]
    unit = "type"
    needs_counts = False

    def __post_init__(self) -> None:
        checked = {
            label: finite(f"weights.{label}", w, "a finite number of at least 0", "1 is neutral.", 0.0)
            for label, w in self.weights.items()
        }
        object.__setattr__(self, "weights", checked)

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """counts (Mapping[str, int]): Any mapping whose keys are the known classes.
        RETURNS (dict): Weight per class."""
        unknown = sorted(set(self.weights) - set(counts))
        if unknown:
            known = ", ".join(sorted(counts))
            raise ValueError(Errors.L005.format(unknown=", ".join(unknown), known=known))
        return {c: self.weights.get(c, 1.0) for c in counts}
