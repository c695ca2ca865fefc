"""Recommendation of a method, by the dev part or by cross-validation."""

import statistics
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from thinc.types import Ints4d

from ...errors import Errors
from ...evaluation.convergence import no_verdict
from ...evaluation.report.systems import Run, System, read_run
from ...evaluation.significance import (
    MACRO,
    TOO_FEW,
    Decision,
    Metric,
    compare,
    correct,
    describe,
    named_metrics,
    outcome_in_words,
    stack,
)
from ...output.console import number, p_value, signed

RISK = 0.2  # largest one-sided p of a recommendation; see `recommend_by_folds`

Cell = tuple[int, int]  # fold and seed


class MethodRuns(dict[Cell, Run]):
    """Evaluations of a method, by fold and seed."""

    @property
    def unit(self) -> str:
        """Return the unit of the test: "document" or "group"."""
        return next(iter(self.values())).counts.unit

    @property
    def metric(self) -> Metric:
        """Return macro F1 of the declared types."""
        return named_metrics(next(iter(self.values())).counts.labels)[MACRO]

    def counts(self) -> Ints4d:
        """Return the mentions of all held-out documents: (n_units, n_seeds, n_types + 1, 3)."""
        folds = sorted({fold for fold, _ in self})
        by_fold = {fold: {seed for f, seed in self if f == fold} for fold in folds}
        seeds = sorted(set.intersection(*by_fold.values()))
        return np.concatenate([stack([self[fold, seed].counts for seed in seeds]) for fold in folds])

    def macro_f1(self) -> float:
        """Compute macro F1 of all held-out documents together, mean over seeds, in [0, 1]."""
        return statistics.mean(self.metric(self.counts().sum(axis=0)).tolist())


class Recommendation(NamedTuple):
    """Recommended method. A method other than the baseline needs evidence that it is better."""

    method: str
    best: str  # method with the best mean score, which may be by chance, or best with enough evidence
    verdict: Decision | None  # on the best against the baseline; null if it is that, or not yet decided
    text: str
    evidence: list[str]
    is_early: bool = False  # whether the baseline or the best would improve with more steps


def recommend(
    scored: Mapping[str, Mapping[int, Path]], labels: list[str], baseline: str
) -> Recommendation:
    """Recommend the best method on dev if it is shown to beat the baseline, else the baseline.

    If one of the two was not trained long enough, there is no verdict and the baseline is kept. The
    test is that of all reports: two-sided, with a p of at most 0.05 after Holm's correction.
    `recommend_by_folds` asks for less evidence, because it makes a choice and no claim.

    scored (Mapping[str, Mapping[int, Path]]): Evaluations on dev, by method and seed.
    labels (List[str]): The declared types.
    baseline (str): Name of the method that is kept unless another one is shown to be better.
    RETURNS (Recommendation): The choice, also in words. p is corrected for all methods (Holm).
    RAISES (ValueError): If the baseline has no evaluation.
    """
    by_cell = {n: {(0, s): path for s, path in cells.items()} for n, cells in scored.items()}
    runs = _read_runs(by_cell, labels, baseline)
    best = _find_best({name: (runs[baseline], own) for name, own in runs.items()}, baseline)
    if early := _describe_early(runs, best, baseline):
        return _postpone_verdict(best, baseline, early)
    if best == baseline:
        none = f"of {len(runs)} methods none has a better mean macro F1 on dev."
        return Recommendation(baseline, best, None, f"Stay with {baseline}: {none}", [])
    decisions = {name: decide(runs[baseline], own) for name, own in runs.items() if name != baseline}
    decision = correct(decisions)[best]
    evidence = describe(best, {f"{MACRO} on dev": decision}, runs[best].unit)
    if decision.outcome == "better":
        seeds = number(decision.n_seeds[1], "seed")
        text = f"Use {best}: it is better than {baseline} in macro F1 on dev, over {seeds}."
        return Recommendation(best, best, decision, text, evidence)
    text = (
        f"Stay with {baseline}: no method is shown to be better on dev. The best one is {best},"
        f" {signed(100 * decision.value)} points, {outcome_in_words(decision, runs[best].unit)}."
    )
    return Recommendation(baseline, best, decision, text, evidence)


def recommend_by_folds(
    scored: Mapping[str, Mapping[Cell, Path]],
    labels: list[str],
    baseline: str,
    n_folds: int,
    dropped: Collection[str] = (),
) -> Recommendation:
    """Recommend the best method on held-out folds, if the evidence suffices to prefer it.

    A recommendation is a choice and not a claim: keeping a worse baseline costs as much as leaving
    a better one. So the test is one-sided and p may be up to 0.2. It is multiplied by the number of
    candidates, because the best of many is lucky as well as good. If the evidence suffices for
    some of them, the best is one of these: another one may be further ahead by luck, on the few
    folds that it finished. `recommend`, for plans without folds, has the stricter rule of all
    claims instead (Holm, at 0.05).

    scored (Mapping[str, Mapping[Tuple[int, int], Path]]): Evaluations on the held-out documents, by
        method, fold and seed.
    labels (List[str]): The declared types.
    baseline (str): Name of the method that is kept unless the evidence for another one suffices.
    n_folds (int): Number of folds of the corpus. Not all of them need to be trained.
    dropped (Collection[str]): Methods that lost after a fold. None of them can be the
        best, however lucky it was there, but p is corrected for them as well. Other methods may
        have fewer folds than the baseline, because trials failed or the time was up.
    RETURNS (Recommendation): The choice, also in words. With a fixed number of steps there is no
        verdict while one of the two methods still improves. With a patience there is one, unless
        the baseline is the best.
    RAISES (ValueError): If the baseline has no evaluation.
    """
    runs = _read_runs(scored, labels, baseline)
    pairs = _pair_runs(runs, baseline, [name for name in runs if name not in dropped])
    n_tried = len(runs) - 1
    decisions = {name: decide(*pair) for name, pair in pairs.items() if name != baseline}
    proven = [name for name, decision in decisions.items() if _suffices(decision, n_tried)]
    best = _find_best({name: pairs[name] for name in proven or pairs}, baseline)
    early = _describe_early(runs, best, baseline)
    both = (run for name in (baseline, best) for run in runs[name].values())
    if early and (best == baseline or not all(run.evaluation.training.patience for run in both)):
        return _postpone_verdict(best, baseline, early)
    if best == baseline:
        n = number(len(decisions), "candidate")
        none = f"of the {n} that were not dropped none is better on held-out folds."
        return Recommendation(baseline, best, None, f"Stay with {baseline}: {none}", [])
    decision, second = decisions[best], pairs[best][1]
    n_done, unit = len({fold for fold, _ in second}), second.unit
    p = min(n_tried * decision.one_sided, 1.0)
    evidence = describe(best, {f"{MACRO} on held-out documents": decision}, unit)
    evidence.append(
        f"{n_done} of {number(n_folds, 'fold')} trained; each document is judged once per seed."
    )
    gain = f"{signed(100 * decision.value)} points of macro F1 beside {baseline} on held-out documents"
    corrected = f", corrected for {number(n_tried, 'candidate')}" if n_tried > 1 else ""
    shown = (
        outcome_in_words(decision, unit)
        if decision.outcome == TOO_FEW
        else f"p {p_value(p, sign='= ')} (one-sided{corrected})"
    )
    stay = f"Stay with {baseline}. The best candidate is {best}, {gain}, which is not enough: {shown}."
    text = f"Use {best}: {gain}, {shown}." if best in proven else stay
    if early:  # methods with a patience are compared nevertheless
        text += f" That may change with more steps. {early}"
    method = best if best in proven else baseline
    return Recommendation(method, best, decision, text, evidence, bool(early))


def _read_runs(
    scored: Mapping[str, Mapping[Cell, Path]], labels: list[str], baseline: str
) -> dict[str, MethodRuns]:
    """Read the evaluations, and check that there are some of the baseline."""
    if baseline not in scored:
        raise ValueError(
            Errors.L487.format(
                problem=f"the baseline {baseline!r} has no scores, found scores of "
                f"{', '.join(scored) or 'none'}.",
                fix="Train and evaluate the baseline first.",
            )
        )
    read = partial(read_run, labels=labels)
    return {
        name: MethodRuns({c: read(path) for c, path in cells.items()}) for name, cells in scored.items()
    }


def _pair_runs(
    runs: Mapping[str, MethodRuns], baseline: str, names: Iterable[str]
) -> dict[str, tuple[MethodRuns, MethodRuns]]:
    """Return runs of the baseline and of each method, on the folds and seeds that both have."""
    pairs = {baseline: (runs[baseline], runs[baseline])}
    for name in names:
        cells = sorted(runs[baseline].keys() & runs[name].keys())
        by_seed = {seed: {f for f, s in cells if s == seed} for _, seed in cells}
        folds = max(by_seed.values(), key=len, default=set())  # of the first seed with most folds
        if cells := [cell for cell in cells if cell[0] in folds and by_seed[cell[1]] >= folds]:
            first, second = (MethodRuns({c: runs[n][c] for c in cells}) for n in (baseline, name))
            pairs[name] = first, second
    return pairs


def _find_best(pairs: Mapping[str, tuple[MethodRuns, MethodRuns]], baseline: str) -> str:
    """Return the method that is furthest ahead of the baseline."""
    gains = {baseline: 0.0}
    for name, (first, second) in pairs.items():
        if name != baseline:
            gains[name] = second.macro_f1() - first.macro_f1()
    return max(gains, key=lambda name: (gains[name], name == baseline))


def _suffices(decision: Decision, n_tried: int) -> bool:
    """Return whether the evidence for the better of several candidates suffices to choose it."""
    return min(n_tried * decision.one_sided, 1.0) <= RISK and decision.outcome != TOO_FEW


def _describe_early(runs: Mapping[str, MethodRuns], best: str, baseline: str) -> str:
    """Return in words which of the two was not trained long enough, or "" if both were."""
    systems = [System(name, list(runs[name].values())) for name in dict.fromkeys((baseline, best))]
    return no_verdict({system.name: system.rising() for system in systems})


def _postpone_verdict(best: str, baseline: str, early: str) -> Recommendation:
    """Recommend the baseline, because methods were not trained long enough.

    best (str): Name of the best method.
    baseline (str): Name of the baseline.
    early (str): Sentences that say which methods need more steps.
    RETURNS (Recommendation): The baseline, without a verdict.
    """
    guess = f" Until then {baseline} is kept without a verdict, and the best guess is {best}."
    return Recommendation(baseline, best, None, early + guess * (best != baseline), [], True)


def decide(first: MethodRuns, second: MethodRuns) -> Decision:
    """Decide whether a method is better than a baseline in macro F1, on the same folds and seeds.

    Each fold has a training of its own, so the spread over trainings counts less with more folds.

    first (MethodRuns): Evaluations of the baseline.
    second (MethodRuns): Evaluations of the method.
    RETURNS (Decision): The decision.
    """
    counts, n_folds = (first.counts(), second.counts()), len({fold for fold, _ in second})
    return compare(*counts, {MACRO: first.metric}, n_trainings=n_folds)[MACRO]
