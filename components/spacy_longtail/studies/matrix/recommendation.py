"""Which method to use, by the development part alone."""

import statistics
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from thinc.types import Ints3d

from ...errors import Errors
from ...evaluation.convergence import no_verdict
from ...evaluation.report.inputs import read_run
from ...evaluation.report.systems import System
from ...evaluation.report.wording import signed
from ...evaluation.significance import (
    LEAST_SEEDS,
    MentionCounts,
    PairedT,
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
    RAISES (ValueError): L406; L410 if the baseline has no finished trial.
    """
    if baseline not in scored:
        found = ", ".join(scored) or "none"
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=found))
    read = cache(partial(read_run, labels=labels))  # each file once

    def counted(path: Path) -> MentionCounts:
        return read(path).counts

    metric = {MACRO: named_metrics(labels)[MACRO]}
    means: dict[str, float] = {}
    verdicts = {}
    for name, paths in scored.items():
        seeds = sorted(set(paths) & set(scored[baseline]))
        if not seeds:
            continue
        own = [counted(paths[seed]) for seed in seeds]
        means[name] = statistics.mean(metric[MACRO](stack(own).sum(axis=0)).tolist())
        if name != baseline:
            first = stack([counted(scored[baseline][seed]) for seed in seeds])
            # over documents alone: no exact test over six seeds could outlive Holm over a few methods
            verdicts[name] = judge(first, stack(own), metric, own[0].unit, is_paired=False)
    verdicts = corrected_by_score(verdicts)
    best = max(means, key=lambda name: (means[name], name == baseline))
    rising = {
        name: System(name, [read(path) for path in scored[name].values()]).rising()
        for name in dict.fromkeys((baseline, best))
    }
    if early := no_verdict(rising):
        guess = "" if best == baseline else f" Until then the best guess is {best}."
        return Recommendation(baseline, best, baseline, None, early + guess, [], True)
    if best == baseline:
        text = f"Stay with {baseline}: of {len(means)} methods none has a better mean macro F1 on dev."
        return Recommendation(baseline, best, baseline, None, text, [])
    verdict = verdicts[best][MACRO]
    seeds = sorted(set(scored[best]) & set(scored[baseline]))
    over = {n: metric[MACRO](_sums(scored[n], seeds, counted)) for n in (baseline, best)}
    return _in_words(best, baseline, verdict, paired_t(over[baseline], over[best]), len(seeds))


def _sums(
    paths: Mapping[int, Path], seeds: list[int], counted: Callable[[Path], MentionCounts]
) -> Ints3d:
    """Counts of all documents together: (n_seeds, n_types + 1, 3)."""
    return stack([counted(paths[seed]) for seed in seeds]).sum(axis=0)


def _in_words(
    best: str, baseline: str, verdict: Verdict, t: PairedT | None, n_seeds: int
) -> Recommendation:
    evidence = describe(best, {f"{MACRO} on dev": verdict})
    is_shown = verdict.outcome == "better"
    about = f" as trained here ({number(n_seeds, 'seed')}),"
    if n_seeds >= LEAST_SEEDS and t is not None:
        is_shown = is_shown and t.p <= ALPHA
        evidence.append(f"Over {n_seeds} seeds: t = {t.t:.2f}, p = {t.p:.2g} (paired t-test).")
        about = ""
    if is_shown:
        text = f"Use {best}:{about} it is better than {baseline} in macro F1 on dev."
        return Recommendation(best, best, baseline, verdict, text, evidence)
    text = (
        f"Stay with {baseline}: no method is shown to be better on dev. The best guess is {best},"
        f" {signed(100 * verdict.value)} points, which may be chance."
    )
    return Recommendation(baseline, best, baseline, verdict, text, evidence)
