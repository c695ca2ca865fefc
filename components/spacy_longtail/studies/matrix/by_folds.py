"""Which method to use, by folds: each document is judged once, by a model that never saw it."""

import statistics
from collections.abc import Collection, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from thinc.types import Ints4d

from ...errors import Errors
from ...evaluation.convergence import no_verdict
from ...evaluation.report.inputs import Run, read_run
from ...evaluation.report.systems import System
from ...evaluation.report.wording import signed
from ...evaluation.significance import Unit, describe, judge, named_metrics, stack
from ...evaluation.significance.metrics import f1
from ...evaluation.significance.paired import ResampledT, resampled_t
from ...output.amounts import verb
from .recommendation import MACRO, Recommendation

RISK = 0.2  # of being worse than the baseline, up to which a method is recommended
LEAST_FOLDS = 3  # for a t-test that says something

Cell = tuple[int, int]  # fold and seed


class Compared(NamedTuple):
    """A method beside the baseline, on the folds that both have."""

    t: ResampledT | None  # over folds; null with one
    chance: float  # that it is worse, of this method alone


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
    failed (Optional[Mapping[str, Collection[Tuple[int, int]]]]): Folds and seeds of trials that ended
        without an evaluation, by method: not the time, but they themselves ended these.
    RETURNS (Recommendation): The choice, in words too, with how sure it is. With a number of steps that
        was set there is no verdict while a method is getting better; where each had the steps that it
        takes, up to those of its config, the methods are compared as that trains them.
    RAISES (ValueError): L406; L410 if the baseline has no finished trial.
    """
    if baseline not in scored:
        found = ", ".join(scored) or "none"
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=found))
    runs = _read(scored, labels)
    first = runs[baseline]
    tried = {name: {*own, *(failed or {}).get(name, ())} for name, own in runs.items()}
    most = max(map(len, tried.values()))
    # a method that was dropped after a fold is not the best, however lucky it was there
    shared = {name: _shared(first, own) for name, own in runs.items() if len(tried[name]) == most}
    last = {name: cells for name, cells in shared.items() if cells} | {baseline: list(first)}
    gains = {name: _gain(first, runs[name], cells) for name, cells in last.items()}
    best = max(gains, key=lambda name: (gains[name], name == baseline), default=baseline)
    systems = {name: System(name, list(runs[name].values())) for name in (baseline, best)}
    ended = {name for name, cells in (failed or {}).items() if cells}
    note = _left_ahead(runs, {*last, *ended}, best, baseline)
    early = no_verdict({name: system.rising() for name, system in systems.items()})
    if early and (best == baseline or not all(map(_has_patience, systems.values()))):
        guess = "" if best == baseline else f" Until then the best guess is {best}."
        return Recommendation(baseline, best, baseline, None, early + guess + note, [], True)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(runs)} methods none is better on held-out folds.{note}"
        if not set(last) - {baseline} and len(runs) > 1:
            text = f"Stay with {baseline}: no other method has finished a fold that it has.{note}"
        return Recommendation(baseline, best, baseline, None, text, [])
    own = {cell: runs[best][cell] for cell in last[best]}
    metric = {MACRO: named_metrics(labels)[MACRO]}
    first = {cell: first[cell] for cell in own}
    before, after = _counts(first), _counts(own)
    unit = next(iter(own.values())).counts.unit
    verdict = judge(before, after, metric, unit, is_paired=False)[MACRO]
    share = 1 / (n_folds - 2)  # neither dev nor what is held out is trained on
    found = compare(first, own, share, verdict.value, verdict.p, len(before))
    n_tried = len(runs) - 1  # those that were dropped after a fold were chosen from, too
    chance = min(n_tried * found.chance, 1.0)
    n_done = len({fold for fold, _ in own})
    evidence = describe(best, {f"{MACRO} on held-out documents": verdict})
    if found.t is not None:
        t = found.t
        evidence.append(
            f"Over {n_done} of {n_folds} folds, with the variance corrected for the training data that"
            f" they share: {signed(100 * t.mean)} points, 95 % interval {signed(100 * t.low)} to"
            f" {signed(100 * t.high)}, p = {t.p:.2g} (resampled t-test)."
        )
    evidence.append(
        f"{best} was chosen from {n_tried} methods that were tried on these folds. So the chance that it"
        f" is worse than {baseline} is multiplied by {n_tried}."
        if n_tried > 1
        else f"{best} is the one method that was tried beside {baseline}."
    )
    sure = f"the chance that it is worse is {_percent(chance)}"
    gain = f"{signed(100 * verdict.value)} points of macro F1 beside {baseline} on held-out documents"
    if early:  # the methods are compared as their configs train them
        note = f" That is with the steps of these trainings, and may change with more. {early}{note}"
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


def _has_patience(system: System) -> bool:
    """Whether it was trained until it got no better, or to the most steps that its config allows."""
    return all(run.evaluation.training.patience for run in system.runs)


def _shared(first: Mapping[Cell, Run], own: Mapping[Cell, Run]) -> list[Cell]:
    """The folds and seeds to compare two methods on: all folds of both have the same seeds."""
    cells = sorted(first.keys() & own.keys())
    by_seed = {seed: {f for f, s in cells if s == seed} for _, seed in cells}
    if not by_seed:
        return []
    folds = max(by_seed.values(), key=len)  # of the first seed that has most
    return [cell for cell in cells if cell[0] in folds and by_seed[cell[1]] >= folds]


def _gain(first: Mapping[Cell, Run], own: Mapping[Cell, Run], cells: list[Cell]) -> float:
    """Macro F1 above the baseline's, on some folds and seeds."""
    return macro_of({c: own[c] for c in cells}) - macro_of({c: first[c] for c in cells})


def _left_ahead(
    runs: Mapping[str, Mapping[Cell, Run]], others: Collection[str], best: str, baseline: str
) -> str:
    """What is ahead of the best on the folds that it had. Where that is not the baseline, which goes on
    whatever it scores, time ended it, and not its score.

    others (Collection[str]): Methods that had all folds, or failed.
    """
    left = {name: _shared(runs[best], own) for name, own in runs.items() if name not in others}
    ahead = [n for n, cells in left.items() if cells and _gain(runs[best], runs[n], cells) > 0]
    if not ahead:
        return ""
    said = f" {', '.join(ahead)} {verb(len(ahead), 'are')} ahead of {best} on the folds of both"
    if best == baseline:
        return f"{said}, where others scored higher, or with no time for more of them."
    return f"{said}, with no time for more of them: give --minutes more."


def compare(
    first: Mapping[Cell, Run],
    own: Mapping[Cell, Run],
    test_share: float,
    value: float,
    p: float,
    n_units: int,
) -> Compared:
    """How likely a method is worse than the baseline: by the t-test over folds, or over documents.

    first (Mapping[Tuple[int, int], Run]): The baseline's evaluations. own: The method's, of the same
        folds and seeds. test_share (float): Held-out documents by training documents.
    value (float): Its difference on all documents. p (float): Of that, two-sided, over documents.
    n_units (int): Documents, or sentences: over n of them no exact paired test gives less than 0.5 ** n.
    RETURNS (Compared): With three folds or more the larger of both chances counts.
    """
    differences = [_present(own[cell]) - _present(first[cell]) for cell in sorted(own)]
    t = resampled_t(differences, test_share)
    by_documents = max(p / 2 if value > 0 else 1 - p / 2, 0.5**n_units)
    is_tested = t is not None and len({fold for fold, _ in own}) >= LEAST_FOLDS
    return Compared(t, max(by_documents, t.p_worse) if is_tested and t is not None else by_documents)


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


def _percent(chance: float) -> str:
    if chance < 0.01:
        return "below 1 %"
    return f"{100 * chance:.0f} %"
