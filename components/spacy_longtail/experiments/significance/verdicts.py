"""What may be said of a method that is held against a baseline, and no more than that."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from .bootstrap import paired_bootstrap
from .counts import Unit
from .metrics import Metric
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
    level: float  # of the interval; alpha is the rest
    p: float  # two-sided, of `test`
    adjusted: float  # p after Holm over all methods that were compared in this score
    test: str  # such as "paired bootstrap over 42 documents"
    n_seeds: int
    t: PairedT | None  # beside the permutation test over seeds
    outcome: Outcome


def decide(
    baseline: np.ndarray,
    methods: Mapping[str, np.ndarray],
    metrics: Mapping[str, Metric],
    unit: Unit,
    *,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
) -> dict[str, dict[str, Verdict]]:
    """Hold methods against a baseline in each score.

    The interval is of the bootstrap over documents. p is of the bootstrap too, or from six seeds on
    of the permutation test over seeds, if the seeds made any difference. "better" and "worse" need both:
    p after Holm at most alpha, and an interval on one side of 0; and six documents at least. Seeds know
    nothing of other documents, nor documents of other trainings: with fewer than six seeds a verdict is
    on the models that were trained, not on the method.

    baseline (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`.
    methods (Mapping[str, np.ndarray]): The same of each method, its seeds in the same order.
    metrics (Mapping[str, Metric]): Scores by name.
    unit (str): What the units are, as in MentionCounts: "document" or "sentence".
    level (float): Of the intervals; alpha is 1 - level.
    n_draws (int): Bootstrap draws.
    seed (int): Fixes them.
    RETURNS (Dict[str, Dict[str, Verdict]]): By method, then by score.
    RAISES (ValueError): L001, L406, L411.
    """
    found = {
        name: _compare(baseline, counts, metrics, unit, level, n_draws, seed)
        for name, counts in methods.items()
    }
    for metric in metrics:
        adjusted = holm([found[name][metric].p for name in methods])
        for name, p in zip(methods, adjusted.tolist(), strict=True):
            own = found[name][metric]
            outcome = _outcome(own, p) if len(baseline) >= LEAST_SEEDS else NO_CLAIM
            found[name][metric] = own._replace(adjusted=p, outcome=outcome)
    return found


def _compare(
    baseline: np.ndarray,
    method: np.ndarray,
    metrics: Mapping[str, Metric],
    unit: Unit,
    level: float,
    n_draws: int,
    seed: int,
) -> dict[str, Verdict]:
    """Verdicts before Holm, which has the last word."""
    differences = paired_bootstrap(baseline, method, metrics, level=level, n_draws=n_draws, seed=seed)
    n_units, n_seeds = len(baseline), min(baseline.shape[1], method.shape[1])
    over_units = f"paired bootstrap over {n_units} {unit}{'s' * (n_units > 1)}"
    is_paired = baseline.shape[1] == method.shape[1] >= LEAST_SEEDS
    verdicts = {}
    for name, metric in metrics.items():
        first, second = metric(baseline.sum(axis=0)), metric(method.sum(axis=0))
        value, low, high, p, _ = differences[name]
        t = paired_t(first, second) if is_paired else None
        test = over_units
        if t is not None:  # else the seeds made no difference, and are one training told often
            p, test = paired_permutation(first, second), f"paired permutation test over {n_seeds} seeds"
        means = (float(first.mean()), float(second.mean()))
        verdicts[name] = Verdict(*means, value, low, high, level, p, p, test, n_seeds, t, NO_CLAIM)
    return verdicts


def _outcome(verdict: Verdict, adjusted: float) -> Outcome:
    if adjusted > 1 - verdict.level:
        return NO_CLAIM
    if verdict.low > 0:
        return "better"
    return "worse" if verdict.high < 0 else NO_CLAIM


def describe(method: str, verdicts: Mapping[str, Verdict]) -> list[str]:
    """The verdicts on a method in words, what was shown before what was not, the tests last.

    method (str): Its name.
    verdicts (Mapping[str, Verdict]): By score, as `decide` returned them for this method.
    RETURNS (List[str]): Sentences. What is not significant is not called unchanged.
    """
    shown, rest = [], []
    for name, verdict in verdicts.items():
        if verdict.outcome == NO_CLAIM:
            rest.append(f"{name}: {NO_CLAIM} ({verdict.value:+.3f}, {_evidence(verdict)}).")
            continue
        verb = "improves" if verdict.outcome == "better" else "lowers"
        scores = f"{name} from {verdict.baseline:.3f} to {verdict.method:.3f}"
        shown.append(f"{method} {verb} {scores} ({verdict.value:+.3f}, {_evidence(verdict)}).")
    tests: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        tests.setdefault(verdict.test, []).append(name)
    if len(tests) == 1:
        return [*shown, *rest, f"Test: {next(iter(tests))}, two-sided."]
    return [
        *shown,
        *rest,
        *(f"Test of {', '.join(own)}: {test}, two-sided." for test, own in tests.items()),
    ]


def _evidence(verdict: Verdict) -> str:
    parts = [
        f"{100 * verdict.level:g} % interval {verdict.low:+.3f} to {verdict.high:+.3f}",
        _p("p", verdict.p),
    ]
    if verdict.adjusted > verdict.p:
        parts.append(_p("after Holm p", verdict.adjusted))
    if verdict.t is not None:
        parts.append(f"t-test {_p('p', verdict.t.p)}")
    return ", ".join(parts)


def _p(name: str, p: float) -> str:
    return f"{name} < 0.001" if p < 0.001 else f"{name} = {p:.3f}"
