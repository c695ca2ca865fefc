"""Which method to use: by the development part, or by folds that hold out each document once."""

import statistics
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from thinc.types import Ints4d

from ...errors import Errors
from ...evaluation.convergence import no_verdict
from ...evaluation.report.systems import Run, System, read_run
from ...evaluation.significance import (
    LEAST_SEEDS,
    Unit,
    Verdict,
    corrected_by_score,
    describe,
    judge,
    named_metrics,
    paired_t,
    stack,
)
from ...evaluation.significance.metrics import f1
from ...evaluation.significance.paired import ResampledT, resampled_t
from ...output.amounts import number, signed

MACRO = "macro F1"
METRIC = {MACRO: named_metrics([])[MACRO]}
ALPHA = 0.05
RISK = 0.2  # of being worse than the baseline, up to which a method is recommended
LEAST_FOLDS = 3  # for a t-test that says something

Cell = tuple[int, int]  # fold and seed
Runs = Mapping[Cell, Run]


class Recommendation(NamedTuple):
    """The method to use. Another than the baseline is named only if it is shown to be better."""

    method: str
    best: str  # the best mean, which may be chance
    verdict: Verdict | None  # on the best against the baseline; null if it is the baseline
    text: str
    evidence: list[str]
    is_early: bool = False  # the baseline or the best would get better with more steps


def recommend(
    scored: Mapping[str, Mapping[int, Path]], labels: list[str], baseline: str
) -> Recommendation:
    """The best method on dev if it is shown to beat the baseline there, else the baseline.

    Where one of the two was not trained long enough there is no verdict, and the baseline stays.

    scored (Mapping[str, Mapping[int, Path]]): Evaluations on dev, by method and seed.
    labels (List[str]): The declared types.
    baseline (str): Name of the method that stays unless another is shown to be better.
    RETURNS (Recommendation): The choice, in words too. p is corrected by Holm for all methods.
    """
    runs = _read({n: {(0, s): path for s, path in cells.items()} for n, cells in scored.items()}, labels)
    pairs = _pairs(runs, baseline, list(runs))
    best = _best(pairs, baseline)
    if early := _early(runs, best, baseline):
        return _undecided(best, baseline, early)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(pairs)} methods none has a better mean macro F1 on dev."
        return Recommendation(baseline, best, None, text, [])
    # over documents alone: no exact test over six seeds could outlive Holm
    verdicts = {name: _judged(*pair) for name, pair in pairs.items() if name != baseline}
    verdict = corrected_by_score(verdicts)[best][MACRO]
    evidence = describe(best, {f"{MACRO} on dev": verdict})
    is_shown, n_seeds = verdict.outcome == "better", len(pairs[best][0])
    t = paired_t(*(METRIC[MACRO](_counts(side).sum(axis=0)) for side in pairs[best]))
    if n_seeds >= LEAST_SEEDS and t is not None:
        is_shown = is_shown and t.p <= ALPHA
        evidence.append(f"Over {n_seeds} seeds: t = {t.t:.2f}, p = {t.p:.2g} (paired t-test).")
    if is_shown:
        seeds = number(n_seeds, "seed")
        text = f"Use {best}: it is better than {baseline} in macro F1 on dev, over {seeds}."
        return Recommendation(best, best, verdict, text, evidence)
    text = (
        f"Stay with {baseline}: no method is shown to be better on dev."
        f" The best guess is {best}, {signed(100 * verdict.value)} points, which may be chance."
    )
    return Recommendation(baseline, best, verdict, text, evidence)


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
    failed (Optional[Mapping[str, Collection[Tuple[int, int]]]]): Folds and seeds of trials without
        an evaluation, by method.
    RETURNS (Recommendation): The choice, in words too, with how sure it is. Methods with a set
        number of steps have no verdict while one of them gets better. Methods with a patience do.
    """
    runs = _read(scored, labels)
    tried = {name: {*cells, *(failed or {}).get(name, ())} for name, cells in runs.items()}
    most = max(map(len, tried.values()), default=0)
    # a method that was dropped after a fold is not the best, however lucky it was there
    pairs = _pairs(runs, baseline, [name for name in runs if len(tried[name]) == most])
    best = _best(pairs, baseline)
    early = _early(runs, best, baseline)
    both = (run for name in (baseline, best) for run in runs[name].values())
    if early and (best == baseline or not all(run.evaluation.training.patience for run in both)):
        return _undecided(best, baseline, early)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(runs)} methods none is better on held-out folds."
        return Recommendation(baseline, best, None, text, [])
    first, second = pairs[best]
    verdict = _judged(first, second)[MACRO]
    share = 1 / (n_folds - 2)  # neither dev nor what is held out is trained on
    t = resampled_t([_present(second[c]) - _present(first[c]) for c in sorted(second)], share)
    n_tried = len(runs) - 1  # those that were dropped after a fold were chosen from, too
    n_done = len({fold for fold, _ in second})
    chance = min(n_tried * worse(verdict.value, verdict.p, len(_counts(first)), t, n_done), 1.0)
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
    text = f"Stay with {baseline}. The best guess is {best}, {gain}, but {sure}."
    if chance <= RISK:
        text = f"Use {best}: {gain}; {sure}."
    if early:  # methods with a patience are compared as their configs train them
        text += f" That may change with more steps. {early}"
    method = best if chance <= RISK else baseline
    return Recommendation(method, best, verdict, text, evidence, bool(early))


def _read(scored: Mapping[str, Mapping[Cell, Path]], labels: list[str]) -> dict[str, Runs]:
    """The evaluations, counted in the same units: sentences where a fold has too few documents."""

    def read(unit: Unit | None) -> dict[str, Runs]:
        each = cache(partial(read_run, labels=labels, unit=unit))  # each file once
        return {n: {cell: each(path) for cell, path in cells.items()} for n, cells in scored.items()}

    runs = read(None)
    units = {run.counts.unit for cells in runs.values() for run in cells.values()}
    return runs if len(units) < 2 else read("sentence")


def _pairs(runs: dict[str, Runs], baseline: str, names: Iterable[str]) -> dict[str, tuple[Runs, Runs]]:
    """Runs of the baseline and of each method, on the folds and seeds that both have."""
    if baseline not in runs:
        found = ", ".join(runs) or "none"
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=found))
    pairs = {baseline: (runs[baseline], runs[baseline])}
    for name in names:
        cells = sorted(runs[baseline].keys() & runs[name].keys())
        by_seed = {seed: {f for f, s in cells if s == seed} for _, seed in cells}
        folds = max(by_seed.values(), key=len, default=set())  # of the first seed that has most
        if cells := [cell for cell in cells if cell[0] in folds and by_seed[cell[1]] >= folds]:
            first, second = ({cell: runs[n][cell] for cell in cells} for n in (baseline, name))
            pairs[name] = first, second
    return pairs


def _best(pairs: Mapping[str, tuple[Runs, Runs]], baseline: str) -> str:
    """The method that is furthest ahead of the baseline."""
    gains = {name: macro_of(second) - macro_of(first) for name, (first, second) in pairs.items()}
    return max(gains, key=lambda name: (gains[name], name == baseline))


def _early(runs: Mapping[str, Runs], best: str, baseline: str) -> str:
    """Which of the two was not trained long enough, in words; "" if both were."""
    systems = [System(name, list(runs[name].values())) for name in dict.fromkeys((baseline, best))]
    return no_verdict({system.name: system.rising() for system in systems})


def _undecided(best: str, baseline: str, early: str) -> Recommendation:
    """What to say where methods were not trained long enough. early (str): Says so."""
    guess = "" if best == baseline else f" Until then the best guess is {best}."
    return Recommendation(baseline, best, None, early + guess, [], True)


def _judged(first: Runs, second: Runs) -> dict[str, Verdict]:
    unit = next(iter(second.values())).counts.unit
    return judge(_counts(first), _counts(second), METRIC, unit, is_paired=False)


def worse(value: float, p: float, n_units: int, t: ResampledT | None, n_folds: int) -> float:
    """The chance that a method is worse than the baseline: over documents, or over folds.

    value (float): Its difference on all documents. p (float): Of that, two-sided, over documents.
    n_units (int): Documents, or sentences: no exact paired test over n gives less than 0.5 ** n.
    t (Optional[ResampledT]): The test over folds, which counts from three folds on, if larger.
    """
    by_documents = max(p / 2 if value > 0 else 1 - p / 2, 0.5**n_units)
    return by_documents if t is None or n_folds < LEAST_FOLDS else max(by_documents, t.p_worse)


def _present(run: Run) -> float:
    """Macro F1 of a fold, over the types that it holds."""
    counts = run.counts.counts.sum(axis=0)[:-1]
    there = counts[:, 2] > 0
    return float(f1(counts[there]).mean()) if there.any() else 0.0


def _counts(runs: Runs) -> Ints4d:
    """Mentions of all held-out documents, of shared seeds: (n_units, n_seeds, n_types + 1, 3)."""
    folds = sorted({fold for fold, _ in runs})
    by_fold = {fold: {seed for f, seed in runs if f == fold} for fold in folds}
    seeds = sorted(set.intersection(*by_fold.values()))
    return np.concatenate([stack([runs[fold, seed].counts for seed in seeds]) for fold in folds])


def macro_of(runs: Runs) -> float:
    """Macro F1 of all held-out documents together, mean over seeds, in [0, 1].

    runs (Mapping[Tuple[int, int], Run]): Evaluations by fold and seed.
    """
    return statistics.mean(METRIC[MACRO](_counts(runs).sum(axis=0)).tolist())
