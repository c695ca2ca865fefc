"""Class weights: computed from the class counts of the training data, or given."""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import NonNegativeFloat
from pydantic.dataclasses import dataclass

from ..errors import Errors
from ..settings import CHECKED

Unit = Literal["tag", "type"]
Scale = Literal["mean_one", "raw"]


def _scale(weights: dict[str, float], counts: Mapping[str, int], scale: Scale) -> dict[str, float]:
    """Return the weights of seen classes times one factor, and 1 for unseen classes."""
    seen, factor = {c: w for c, w in weights.items() if counts[c] > 0}, 1.0
    if seen and scale == "mean_one":
        factor = sum(counts[c] for c in seen) / sum(counts[c] * w for c, w in seen.items())
    return {c: seen[c] * factor if c in seen else 1.0 for c in weights}


@dataclass(frozen=True, config=CHECKED)
class InverseFrequency:
    """Class weights inversely proportional to the class counts of the training data (WCE-1).

    unit (str): Unit of a class. "tag" counts B- and I- tags separately, "type" merges them, which
        longtail_ner needs.
    scale (str): "mean_one" scales the weights so that their mean over training tokens is 1. "raw"
        leaves them at s / s_k, with s_k the tokens of class k and s their sum.
    RETURNS (ClassWeights): The class weights, for the argument `weights` of a loss.
    SOURCE: Nemoto et al. 2025, section 4, WCE-1 (docs/methods.md, "Class weights").
    EXAMPLE:
        >>> from spacy_longtail.losses import InverseFrequency
        >>> InverseFrequency(scale="raw").resolve({"O": 80, "B-EVE": 16, "I-EVE": 4})
        {'O': 1.25, 'B-EVE': 6.25, 'I-EVE': 25.0}
    """

    needs_counts: ClassVar[bool] = True
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each class, 1 for classes without a token.

        counts (Mapping[str, int]): Training tokens per class.
        """
        total = sum(counts.values())
        return _scale({c: total / max(n, 1) for c, n in counts.items()}, counts, self.scale)


@dataclass(frozen=True, config=CHECKED)
class LogInverseFrequency:
    """Class weights log10((s - s_k) / s_k + beta), less extreme than inverse frequencies (WCE-2).

    s_k are the training tokens of class k, s their sum.

    beta (float): Constant in the logarithm, no unit; 1 gives log10(s / s_k). The paper has 1 to 10.
    unit (str): Unit of a class, "tag" or "type", as for longtail.inverse_frequency.v1.
    scale (str): "mean_one" or "raw", as for longtail.inverse_frequency.v1.
    RETURNS (ClassWeights): The class weights, for the argument `weights` of a loss.
    SOURCE: Nemoto et al. 2025, section 4, WCE-2 (docs/methods.md, "Class weights").
    EXAMPLE:
        >>> from spacy_longtail.losses import LogInverseFrequency
        >>> LogInverseFrequency(beta=1.0, scale="raw").resolve({"O": 900, "EVE": 100})["EVE"]
        1.0
    """

    needs_counts: ClassVar[bool] = True
    beta: NonNegativeFloat = 1.0
    unit: Unit = "tag"
    scale: Scale = "mean_one"

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each class, 1 for classes without a token.

        counts (Mapping[str, int]): Training tokens per class.
        RAISES (ValueError): If beta makes a weight negative (L001).
        """
        total = sum(counts.values())
        inner = {c: (total - n) / n + self.beta if n else 1.0 for c, n in counts.items()}
        if inner and min(inner.values()) < 1:  # a negative weight would reward errors
            rule = f"at least {2 - total / max(counts.values()):.4g} for this corpus"
            fix = "A lower one gives a frequent class a negative weight."
            raise ValueError(Errors.L001.format(name="beta", rule=rule, value=self.beta, fix=fix))
        return _scale({c: math.log10(x) for c, x in inner.items()}, counts, self.scale)


@dataclass(frozen=True, config=CHECKED)
class LabelWeights:
    """Class weights given for each entity type. O and types that are not named have the weight 1.

    weights (Dict[str, float]): Weight of entity types or of "O", no unit, at least 0.
    RETURNS (ClassWeights): The class weights, for the argument `weights` of a loss.
    EXAMPLE:
        >>> from spacy_longtail.losses import LabelWeights
        >>> LabelWeights({"EVE": 3.0}).resolve({"O": 80, "EVE": 16, "GEO": 4})
        {'O': 1.0, 'EVE': 3.0, 'GEO': 1.0}
    """

    needs_counts: ClassVar[bool] = False
    unit: ClassVar[Unit] = "type"
    weights: dict[str, NonNegativeFloat]

    def resolve(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each class.

        counts (Mapping[str, int]): Training tokens per class, of which the classes are read.
        RAISES (ValueError): If a named type is not among the classes (L203).
        """
        if unknown := ", ".join(sorted(set(self.weights) - set(counts))):
            raise ValueError(
                Errors.L203.format(
                    setting="weights",
                    who="longtail.label_weights.v1",
                    unknown=unknown,
                    known=", ".join(sorted(counts)),
                )
            )
        return {c: self.weights.get(c, 1.0) for c in counts}
