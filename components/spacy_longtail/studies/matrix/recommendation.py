"""Which method to use, by the development part alone."""

import statistics
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from ...errors import Errors
from ...evaluation.convergence import no_verdict
from ...evaluation.report.inputs import read_run
from ...evaluation.report.systems import System
from ...evaluation.report.wording import signed
from ...evaluation.significance import (
    LEAST_SEEDS,
    Verdict,
    corrected_by_score,
    describe,
    judge,
    named_metrics,
    paired_t,
    stack,
)
from ...output.amounts import number

MACRO = "macro F1"
ALPHA = 0.05


class Recommendation(NamedTuple):
    """The method to use. Another than the baseline is named only if it is shown to be better."""

    method: str
    best: str  # the best mean on dev, which may be chance
    baseline: str
    verdict: Verdict | None  # on the best against the baseline, on dev; null if it is the baseline
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
    check_baseline(baseline, scored)
    read = cache(partial(read_run, labels=labels))  # each file once
    metric = {MACRO: named_metrics(labels)[MACRO]}
    counts, verdicts, means = {}, {}, {}
    for name, paths in scored.items():
        if seeds := sorted(set(paths) & set(scored[baseline])):
            first, own = (
                stack([read(scored[n][seed]).counts for seed in seeds]) for n in (baseline, name)
            )
            counts[name] = first.sum(axis=0), own.sum(axis=0)
            means[name] = statistics.mean(metric[MACRO](counts[name][1]).tolist())
            if name != baseline:
                unit = read(paths[seeds[0]]).counts.unit
                # over documents alone: no exact test over six seeds could outlive Holm
                verdicts[name] = judge(first, own, metric, unit, is_paired=False)
    best = max(means, key=lambda name: (means[name], name == baseline))
    systems = {n: System(n, [read(path) for path in scored[n].values()]) for n in {baseline, best}}
    if early := no_verdict({name: systems[name].rising() for name in sorted(systems)}):
        return undecided(best, baseline, early)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(means)} methods none has a better mean macro F1 on dev."
        return Recommendation(baseline, best, baseline, None, text, [])
    verdict = corrected_by_score(verdicts)[best][MACRO]
    evidence = describe(best, {f"{MACRO} on dev": verdict})
    is_shown = verdict.outcome == "better"
    n_seeds = len(set(scored[best]) & set(scored[baseline]))
    t = paired_t(*map(metric[MACRO], counts[best]))
    if n_seeds >= LEAST_SEEDS and t is not None:
        is_shown = is_shown and t.p <= ALPHA
        evidence.append(f"Over {n_seeds} seeds: t = {t.t:.2f}, p = {t.p:.2g} (paired t-test).")
    if is_shown:
        seeds = number(n_seeds, "seed")
        text = f"Use {best}: it is better than {baseline} in macro F1 on dev, over {seeds}."
        return Recommendation(best, best, baseline, verdict, text, evidence)
    gain = signed(100 * verdict.value)
    text = (
        f"Stay with {baseline}: no method is shown to be better on dev."
        f" The best guess is {best}, {gain} points, which may be chance."
    )
    return Recommendation(baseline, best, baseline, verdict, text, evidence)


def check_baseline(baseline: str, scored: Mapping[str, object]) -> None:
    """Refuse a comparison without its baseline.

    baseline (str): Name of the method. scored (Mapping[str, object]): What has an evaluation, by method.
    """
    if baseline not in scored:
        found = ", ".join(scored) or "none"
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=found))


def undecided(best: str, baseline: str, early: str) -> Recommendation:
    """What to say where methods were not trained long enough. early (str): Says so."""
    guess = "" if best == baseline else f" Until then the best guess is {best}."
    return Recommendation(baseline, best, baseline, None, early + guess, [], True)
