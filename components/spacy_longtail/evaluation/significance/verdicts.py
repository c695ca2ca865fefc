"""What may be said of a method that is compared with a baseline, and no more than that."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from .bootstrap import ROUNDING, paired_bootstrap
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
    p: float  # two-sided, of the same draws as the interval
    p_seeds: float | None  # of the permutation test over seeds, from six seeds on
    adjusted: float  # the larger p after Holm over the comparisons that were made together
    test: str  # such as "paired bootstrap over 42 documents"
    n_seeds: int
    t: PairedT | None  # beside the permutation test over seeds
    outcome: Outcome

    @property
    def larger_p(self) -> float:
        """That of the tests which were made: a claim needs them all."""
        return max(self.p, self.p_seeds or 0.0)


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
    """Compare methods with a baseline in each score.

    The interval and p are of the bootstrap over documents. From six seeds on, if the seeds made any
    difference, there is the permutation test over seeds too. "better" and "worse" need six documents,
    and the larger p after Holm at most alpha. Seeds know nothing of other documents, nor documents of
    other trainings: with fewer than six seeds a verdict is on the models that were trained, not on the
    method.

    baseline (np.ndarray): (n_units, n_seeds, n_types + 1, 3), of `stack`.
    methods (Mapping[str, np.ndarray]): The same of each method, its seeds in the same order.
    metrics (Mapping[str, Metric]): Scores by name.
    unit (str): What the units are, as in MentionCounts: "document" or "sentence".
    level (float): Of the intervals; alpha is 1 - level.
    n_draws (int): Bootstrap draws.
    seed (int): Fixes them.
    RETURNS (Dict[str, Dict[str, Verdict]]): By method, then by score.
    """
    found = {
        name: judge(baseline, counts, metrics, unit, level=level, n_draws=n_draws, seed=seed)
        for name, counts in methods.items()
    }
    return corrected_by_score(found)


def judge(
    baseline: np.ndarray,
    method: np.ndarray,
    metrics: Mapping[str, Metric],
    unit: Unit,
    *,
    is_paired: bool = True,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
) -> dict[str, Verdict]:
    """Compare one method with a baseline in each score, as `decide` does, without Holm's correction.

    is_paired (bool): Whether the seeds of both are the same, in the same order. If not, they are not
        tested over seeds.
    The other arguments and RETURNS: as in `decide`.
    """
    differences = paired_bootstrap(baseline, method, metrics, level=level, n_draws=n_draws, seed=seed)
    n_units, n_seeds = len(baseline), min(baseline.shape[1], method.shape[1])
    over_units = f"paired bootstrap over {n_units} {unit}{'s' * (n_units > 1)}"
    is_tested = is_paired and baseline.shape[1] == method.shape[1] >= LEAST_SEEDS
    verdicts = {}
    for name, metric in metrics.items():
        first, second = metric(baseline.sum(axis=0)), metric(method.sum(axis=0))
        value, low, high, p = differences[name]
        t, p_seeds, test = paired_t(first, second) if is_tested else None, None, over_units
        if t is not None:  # else the seeds made no difference, and are one training told often
            p_seeds = paired_permutation(first, second)
            test = f"{over_units}, and paired permutation test over {n_seeds} seeds"
        means = (float(first.mean()), float(second.mean()))
        found = Verdict(*means, value, low, high, level, p, p_seeds, p, test, n_seeds, t, NO_CLAIM)
        outcome = _outcome(found, found.larger_p) if n_units >= LEAST_SEEDS else NO_CLAIM
        verdicts[name] = found._replace(adjusted=found.larger_p, outcome=outcome)
    return verdicts


def corrected(family: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Verdicts that are read together after Holm's correction: a claim can only be lost.

    family (Mapping[str, Verdict]): On several methods in one score, or on one method in several types.
    RETURNS (Dict[str, Verdict]): The same with p adjusted.
    """
    adjusted = holm([verdict.larger_p for verdict in family.values()]).tolist()
    return {
        name: verdict._replace(
            adjusted=p, outcome=NO_CLAIM if verdict.outcome == NO_CLAIM else _outcome(verdict, p)
        )
        for (name, verdict), p in zip(family.items(), adjusted, strict=True)
    }


def corrected_by_score(found: Mapping[str, Mapping[str, Verdict]]) -> dict[str, dict[str, Verdict]]:
    """Verdicts on several methods, those on each score corrected together.

    found (Mapping[str, Mapping[str, Verdict]]): By method, then by score; the same scores for all.
    RETURNS (Dict[str, Dict[str, Verdict]]): The same with p adjusted.
    """
    scores = next(iter(found.values()), {})
    after = {score: corrected({name: own[score] for name, own in found.items()}) for score in scores}
    return {name: {score: own[name] for score, own in after.items()} for name in found}


def _outcome(verdict: Verdict, adjusted: float) -> Outcome:
    if adjusted > 1 - verdict.level + ROUNDING:
        return NO_CLAIM
    return "better" if verdict.low > 0 else "worse"  # the interval leaves out 0 where p is so small


def describe(method: str, verdicts: Mapping[str, Verdict]) -> list[str]:
    """The verdicts on a method in words and points of 100: what was shown, what was not, the tests.

    method (str): Its name.
    verdicts (Mapping[str, Verdict]): By score, as `decide` returned them for this method.
    RETURNS (List[str]): Sentences. What is not significant is not called unchanged.
    """
    shown, rest = [], []
    for name, verdict in verdicts.items():
        if verdict.outcome == NO_CLAIM:
            rest.append(f"{name}: {NO_CLAIM} ({_signed(verdict.value)}, {_evidence(verdict)}).")
            continue
        verb = "improves" if verdict.outcome == "better" else "lowers"
        scores = f"{name} from {100 * verdict.baseline:.1f} to {100 * verdict.method:.1f}"
        shown.append(f"{method} {verb} {scores} ({_signed(verdict.value)}, {_evidence(verdict)}).")
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
        f"{100 * verdict.level:g} % interval {_signed(verdict.low)} to {_signed(verdict.high)}",
        _p("p", verdict.p),
    ]
    if verdict.p_seeds is not None:
        parts.append(_p(f"over {verdict.n_seeds} seeds p", verdict.p_seeds))
    if verdict.t is not None:
        parts.append(f"t-test {_p('p', verdict.t.p)}")
    if verdict.adjusted > verdict.larger_p:
        parts.append(_p("after Holm p", verdict.adjusted))
    return ", ".join(parts)


def _signed(score: float) -> str:
    """A difference as points of 100 with a sign, a real minus; what rounds to nothing has none."""
    points = round(100 * score, 1)
    return f"{points:+.1f}".replace("-", "\u2212") if points else "0.0"


def _p(name: str, p: float) -> str:
    return f"{name} < 0.001" if p < 0.001 else f"{name} = {p:.3f}"
