"""What may be said of a method that is compared with a baseline, and no more than that."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ...output.amounts import p_value, percent, signed
from .bootstrap import LEVEL, ROUNDING, paired_bootstrap
from .metrics import Metric, Unit
from .paired import PairedT, holm, paired_permutation, paired_t

Outcome = Literal["better", "worse", "no difference shown"]
NO_CLAIM: Outcome = "no difference shown"
LEAST_SEEDS = 6  # and units: with fewer, no exact paired test over them can give p below 0.05


class Verdict(NamedTuple):
    baseline: float  # scores are means over seeds, in [0, 1]
    method: float
    value: float  # method minus baseline
    low: float  # of the interval over documents or sentences
    high: float
    p: float  # two-sided, of the same draws as the interval
    p_seeds: float | None  # of the permutation test over seeds, from six seeds on
    adjusted: float  # the larger p after Holm over the comparisons that were made together
    test: str  # such as "paired bootstrap over 42 documents"
    n_seeds: int
    t: PairedT | None  # beside the permutation test over seeds
    outcome: Outcome

    @property
    def larger_p(self) -> float:
        """Of the tests which were made: a claim needs them all."""
        return max(self.p, self.p_seeds or 0.0)


def judge(
    baseline: np.ndarray,
    method: np.ndarray,
    metrics: Mapping[str, Metric],
    unit: Unit,
    *,
    is_paired: bool = True,
    n_draws: int = 10_000,
    seed: int = 0,
) -> dict[str, Verdict]:
    """Compare a method with a baseline in each score.

    The interval and p come from the bootstrap over documents. From six seeds on, if the seeds made
    any difference, there is the permutation test over seeds too. "better" and "worse" need six
    documents, and a larger p of at most 0.05.

    baseline (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`.
    method (np.ndarray): The same of the method. metrics (Mapping[str, Metric]): Scores by name.
    unit (str): What the units are, as in MentionCounts: "document" or "sentence".
    is_paired (bool): Whether both have the same seeds, in one order; else no test is over seeds.
    n_draws (int): Bootstrap draws. seed (int): Fixes them.
    RETURNS (Dict[str, Verdict]): By score. Those that are read together need `corrected`.
    """
    differences = paired_bootstrap(baseline, method, metrics, n_draws=n_draws, seed=seed)
    n_units, n_seeds = len(baseline), min(baseline.shape[1], method.shape[1])
    over_units = f"paired bootstrap over {n_units} {unit}{'s' * (n_units > 1)}"
    is_tested = is_paired and baseline.shape[1] == method.shape[1] >= LEAST_SEEDS
    verdicts = {}
    for name, metric in metrics.items():
        first, second = metric(baseline.sum(axis=0)), metric(method.sum(axis=0))
        value, low, high, p = differences[name]
        t, p_seeds, test = paired_t(first, second) if is_tested else None, None, over_units
        if t is not None:  # else the seeds made no difference: one training, counted often
            p_seeds = paired_permutation(first, second)
            test = f"{over_units}, and paired permutation test over {n_seeds} seeds"
        means = (float(first.mean()), float(second.mean()))
        raw = Verdict(*means, value, low, high, p, p_seeds, p, test, n_seeds, t, NO_CLAIM)
        outcome = _outcome(raw, raw.larger_p) if n_units >= LEAST_SEEDS else NO_CLAIM
        verdicts[name] = raw._replace(adjusted=raw.larger_p, outcome=outcome)
    return verdicts


def corrected(family: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Verdicts that are read together after Holm's correction: a claim can only be lost.

    family (Mapping[str, Verdict]): On several methods in one score, or on one method in several
        types.
    RETURNS (Dict[str, Verdict]): The same with p adjusted.
    """
    adjusted = holm([verdict.larger_p for verdict in family.values()]).tolist()
    adjusted_verdicts = {}
    for (name, verdict), p in zip(family.items(), adjusted, strict=True):
        outcome = NO_CLAIM if verdict.outcome == NO_CLAIM else _outcome(verdict, p)
        adjusted_verdicts[name] = verdict._replace(adjusted=p, outcome=outcome)
    return adjusted_verdicts


def corrected_by_score(verdicts: Mapping[str, Mapping[str, Verdict]]) -> dict[str, dict[str, Verdict]]:
    """Verdicts on several methods, each score corrected for the number of methods.

    verdicts (Mapping[str, Mapping[str, Verdict]]): By method, then by score, all alike.
    RETURNS (Dict[str, Dict[str, Verdict]]): The same with p adjusted.
    """
    scores = next(iter(verdicts.values()), {})
    after = {score: corrected({n: method[score] for n, method in verdicts.items()}) for score in scores}
    return {name: {score: method[name] for score, method in after.items()} for name in verdicts}


def _outcome(verdict: Verdict, adjusted: float) -> Outcome:
    if adjusted > 1 - LEVEL + ROUNDING:
        return NO_CLAIM
    return "better" if verdict.low > 0 else "worse"  # the interval leaves out 0 for so small a p


def describe(method: str, verdicts: Mapping[str, Verdict]) -> list[str]:
    """The verdicts on a method in sentences, scores in points of 100.

    method (str): Its name.
    verdicts (Mapping[str, Verdict]): By score, as `judge` returned them for this method.
    RETURNS (List[str]): What was shown, what was not, then the tests.
    """
    shown, rest = [], []
    tests: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        tests.setdefault(verdict.test, []).append(name)
        change = f"({signed(100 * verdict.value)}, {_evidence(verdict)})"
        scores = f"from {percent(verdict.baseline)} to {percent(verdict.method)}"
        if verdict.outcome == NO_CLAIM:
            rest.append(f"{name}: {NO_CLAIM} {change}.")
        else:
            verb = "improves" if verdict.outcome == "better" else "lowers"
            shown.append(f"{method} {verb} {name} {scores} {change}.")
    for test, names in tests.items():
        of = f" of {', '.join(names)}" if len(tests) > 1 else ""
        rest.append(f"Test{of}: {test}, two-sided.")
    return [*shown, *rest]


def _evidence(verdict: Verdict) -> str:
    low, high = signed(100 * verdict.low), signed(100 * verdict.high)
    ps = {
        "p": verdict.p,
        f"over {verdict.n_seeds} seeds p": verdict.p_seeds,
        "t-test p": verdict.t and verdict.t.p,
        "after Holm p": verdict.adjusted if verdict.adjusted > verdict.larger_p else None,
    }
    parts = [f"{name} {p_value(p, sign='= ')}" for name, p in ps.items() if p is not None]
    return ", ".join([f"{100 * LEVEL:g} % interval {low} to {high}", *parts])
