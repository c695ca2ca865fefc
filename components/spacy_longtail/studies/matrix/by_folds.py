"""Which method to use, by folds: each document is judged once, by a model that never saw it."""

import statistics
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
from thinc.types import Ints4d

from ...evaluation.convergence import no_verdict
from ...evaluation.report.inputs import Run, read_run
from ...evaluation.report.systems import System
from ...evaluation.report.wording import signed
from ...evaluation.significance import Unit, describe, judge, named_metrics, stack
from ...evaluation.significance.metrics import f1
from ...evaluation.significance.paired import ResampledT, resampled_t
from .recommendation import MACRO, Recommendation, check_baseline, undecided

RISK = 0.2  # of being worse than the baseline, up to which a method is recommended
LEAST_FOLDS = 3  # for a t-test that says something

Cell = tuple[int, int]  # fold and seed


def recommend_by_folds(
    scored: Mapping[str, Mapping[Cell, Path]],
    labels: list[str],
    baseline: str,
    n_folds: int,
    failed: Mapping[str, Collection[Cell]] | None = None,
) -> Recommendation:
    """The best method on held-out folds, unless it is too likely to be worse than the baseline.

    scored (Mapping[str, Mapping[Tuple[int, int], Path]]): Evaluations on the held-out documents, by
        method, fold and seed.
    labels (List[str]): The declared types.
    baseline (str): Name of the method that stays unless another is likely to be better.
    n_folds (int): Of the corpus, at least 3: one is held out, and one is dev. Fewer may be done.
    failed (Optional[Mapping[str, Collection[Tuple[int, int]]]]): Folds and seeds of trials without an
        evaluation, by method.
    RETURNS (Recommendation): The choice, in words too, with how sure it is. Methods with a set number of
        steps have no verdict while one of them gets better. Methods with a patience do.
    """
    check_baseline(baseline, scored)
    runs = _read(scored, labels)
    tried = {name: {*own, *(failed or {}).get(name, ())} for name, own in runs.items()}
    most = max(map(len, tried.values()))
    # a method that was dropped after a fold is not the best, however lucky it was there
    shared = {n: _shared(runs[baseline], own) for n, own in runs.items() if len(tried[n]) == most}
    last = {n: cells for n, cells in shared.items() if cells} | {baseline: list(runs[baseline])}
    gains = {
        n: macro_of(_at(runs[n], cells)) - macro_of(_at(runs[baseline], cells))
        for n, cells in last.items()
    }
    best = max(gains, key=lambda name: (gains[name], name == baseline))
    systems = [System(n, list(runs[n].values())) for n in dict.fromkeys((baseline, best))]
    early = no_verdict({system.name: system.rising() for system in systems})
    has_patience = all(r.evaluation.training.patience for own in systems for r in own.runs)
    if early and (best == baseline or not has_patience):
        return undecided(best, baseline, early)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(runs)} methods none is better on held-out folds."
        return Recommendation(baseline, best, baseline, None, text, [])
    first, own = _at(runs[baseline], last[best]), _at(runs[best], last[best])
    before, after = _counts(first), _counts(own)
    metric = {MACRO: named_metrics(labels)[MACRO]}
    unit = next(iter(own.values())).counts.unit
    verdict = judge(before, after, metric, unit, is_paired=False)[MACRO]
    share = 1 / (n_folds - 2)  # neither dev nor what is held out is trained on
    t = resampled_t([_present(own[c]) - _present(first[c]) for c in sorted(own)], share)
    n_tried = len(runs) - 1  # those that were dropped after a fold were chosen from, too
    n_done = len({fold for fold, _ in own})
    chance = min(n_tried * worse(verdict.value, verdict.p, len(before), t, n_done), 1.0)
    evidence = describe(best, {f"{MACRO} on held-out documents": verdict})
    if t is not None:
        evidence.append(
            f"Over {n_done} of {n_folds} folds, with the variance corrected for the training data that"
            f" they share: {signed(100 * t.mean)} points, 95 % interval {signed(100 * t.low)} to"
            f" {signed(100 * t.high)}, p = {t.p:.2g} (resampled t-test)."
        )
    if n_tried > 1:
        evidence.append(f"The chance is multiplied by {n_tried}, the methods that were tried.")
    sure = f"the chance that it is worse is {'below 1' if chance < 0.01 else f'{100 * chance:.0f}'} %"
    gain = f"{signed(100 * verdict.value)} points of macro F1 beside {baseline} on held-out documents"
    # methods with a patience are compared as their configs train them
    note = f" That may change with more steps. {early}" if early else ""
    if chance <= RISK:
        text = f"Use {best}: {gain}; {sure}.{note}"
        return Recommendation(best, best, baseline, verdict, text, evidence, bool(early))
    text = f"Stay with {baseline}. The best guess is {best}, {gain}, but {sure}.{note}"
    return Recommendation(baseline, best, baseline, verdict, text, evidence, bool(early))


def _read(scored: Mapping[str, Mapping[Cell, Path]], labels: list[str]) -> dict[str, dict[Cell, Run]]:
    """The evaluations, all counted in the same units: sentences where a fold has too few documents."""

    def read(unit: Unit | None) -> dict[str, dict[Cell, Run]]:
        each = cache(partial(read_run, labels=labels, unit=unit))  # each file once
        return {name: {cell: each(path) for cell, path in own.items()} for name, own in scored.items()}

    found = read(None)
    units = {run.counts.unit for own in found.values() for run in own.values()}
    return found if len(units) < 2 else read("sentence")


def _at(runs: Mapping[Cell, Run], cells: Iterable[Cell]) -> dict[Cell, Run]:
    return {cell: runs[cell] for cell in cells}


def _shared(first: Mapping[Cell, Run], own: Mapping[Cell, Run]) -> list[Cell]:
    """The folds and seeds to compare two methods on: all folds of both have the same seeds."""
    cells = sorted(first.keys() & own.keys())
    by_seed = {seed: {f for f, s in cells if s == seed} for _, seed in cells}
    folds = max(by_seed.values(), key=len, default=set())  # of the first seed that has most
    return [cell for cell in cells if cell[0] in folds and by_seed[cell[1]] >= folds]


def worse(value: float, p: float, n_units: int, t: ResampledT | None, n_folds: int) -> float:
    """The chance that a method is worse than the baseline: over documents, or over folds.

    value (float): Its difference on all documents. p (float): Of that, two-sided, over documents.
    n_units (int): Documents, or sentences: no exact paired test over n gives less than 0.5 ** n.
    t (Optional[ResampledT]): The test over folds, which counts from three folds on, if it is larger.
    """
    by_documents = max(p / 2 if value > 0 else 1 - p / 2, 0.5**n_units)
    return by_documents if t is None or n_folds < LEAST_FOLDS else max(by_documents, t.p_worse)


def _present(run: Run) -> float:
    """Macro F1 of a fold, over the types that it holds."""
    counts = run.counts.counts.sum(axis=0)[:-1]
    there = counts[:, 2] > 0
    return float(f1(counts[there]).mean()) if there.any() else 0.0


def _counts(runs: Mapping[Cell, Run]) -> Ints4d:
    """Mentions of all held-out documents: (n_units, n_seeds, n_types + 1, 3), of the seeds in common."""
    folds = sorted({fold for fold, _ in runs})
    by_fold = {fold: {seed for f, seed in runs if f == fold} for fold in folds}
    seeds = sorted(set.intersection(*by_fold.values()))
    return np.concatenate([stack([runs[fold, seed].counts for seed in seeds]) for fold in folds])


def macro_of(runs: Mapping[Cell, Run]) -> float:
    """Macro F1 of all held-out documents together, mean over seeds, in [0, 1].

    runs (Mapping[Tuple[int, int], Run]): Evaluations by fold and seed.
    """
    sums = _counts(runs).sum(axis=0)
    return statistics.mean(f1(sums[:, :-1]).mean(axis=1).tolist())
