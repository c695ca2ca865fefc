"""Learning curves: scores by the size of the training data or its fraction of entity tokens."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...evaluation.convergence import rising_of
from ...evaluation.report.systems import AVERAGES, MeanAndStd, over_seeds
from ...evaluation.significance import (
    TOO_FEW,
    Decision,
    MentionCounts,
    compare,
    correct,
    how_tested,
    named_metrics,
    outcome_in_words,
    stack,
)
from ...output.console import signed
from ..trials.record import TrialRecord


class Curves(NamedTuple):
    """Learning curves of all methods on one corpus."""

    x_name: str  # "sentences" or "% entity tokens"
    average: str  # "macro" or "micro"
    sizes: list[float]  # sizes or shares, ascending
    lines: dict[str, list[MeanAndStd]]  # F1 at each size over the partitions, by method
    findings: list[str]


def read_curves(
    records: Sequence[TrialRecord],
    baseline: str,
    read: Callable[[TrialRecord], MentionCounts],
    average: str = "macro",
) -> Curves:
    """Read the learning curves of the trials on one corpus.

    records (Sequence[TrialRecord]): Records of finished trials. Those that were trained on the
        whole training part are ignored.
    baseline (str): Name of the method that others are compared with.
    read (Callable): Returns the mention counts of a trial on the test part.
    average (str): "macro" or "micro".
    RETURNS (Curves): The curves, with findings in sentences.
    """
    trials: dict[tuple[str, float], list[TrialRecord]] = {}  # by method and size
    x_name = "sentences"
    for record in records:
        if record.draw is not None:
            x_name, x = record.draw.x
            trials.setdefault((record.method, x), []).append(record)
    sizes = sorted({x for _, x in trials})
    scores = {
        place: over_seeds(record.score("test", AVERAGES[average]) for record in own)
        for place, own in trials.items()
    }
    lines = {name: [scores.get((name, x), (None, None)) for x in sizes] for name, _ in trials}
    early = {place for place, own in trials.items() if rising_of(record.ending for record in own)}
    others = [name for name in lines if name != baseline and baseline in lines]
    decided = {
        (name, x): _decide(trials[baseline, x], trials[name, x], read, average)
        for name, x in itertools.product(others, sizes)
        if {(baseline, x), (name, x)} <= trials.keys() - early
    }
    # all methods and sizes of a chart are read together, so they are corrected together
    corrected = correct({place: own for place, own in decided.items() if own is not None})
    unit = next((read(own[0]).unit for own in trials.values()), "document")
    findings: list[str] = []
    for name in others:
        by_x = {x: own for (method, x), own in corrected.items() if method == name}
        findings += _describe_line(name, baseline, by_x, x_name, average, unit)
        if rising := sorted({x for method, x in early if method in (name, baseline)}):
            shown = ", ".join(f"{x:g}" for x in rising)
            findings.append(f"{name} against {baseline} at {shown} {x_name}: not trained long enough.")
    if tested := [own for own in corrected.values() if own.outcome != TOO_FEW]:
        findings += how_tested({average: tested[0]}, unit)
    return Curves(x_name, average, sizes, lines, findings)


def _decide(
    baseline: Sequence[TrialRecord],
    method: Sequence[TrialRecord],
    read: Callable[[TrialRecord], MentionCounts],
    average: str,
) -> Decision | None:
    """Compare two methods on the partitions that both have, or return None if there are none."""
    by_seed = [{record.seed: record for record in records} for records in (baseline, method)]
    if not (shared := sorted(by_seed[0].keys() & by_seed[1].keys())):
        return None
    first, second = ([read(records[seed]) for seed in shared] for records in by_seed)
    name = f"{average} F1"
    metrics = {name: named_metrics(first[0].labels)[name]}
    return compare(stack(first), stack(second), metrics, primary=name, is_paired=True)[name]


def _describe_line(
    name: str, baseline: str, by_x: dict[float, Decision], x_name: str, average: str, unit: str
) -> list[str]:
    """Describe the lead of a method at each size, and where it is significant."""
    if not by_x:
        return []
    gains = ", ".join(f"{signed(100 * own.value)} at {x:g}" for x, own in by_x.items())
    shown = ", ".join(f"{x:g}" for x, own in by_x.items() if own.is_significant)
    significant = f"significant at {shown}" if shown else "nowhere significant"
    first = next(iter(by_x.values()))
    n = first.n_comparisons
    corrected = f" (corrected for {n} comparisons)" if n > 1 else ""
    if all(own.outcome == TOO_FEW for own in by_x.values()):
        significant, corrected = outcome_in_words(first, unit), ""
    return [
        f"{name} against {baseline}, points of {average} F1 by {x_name}: "
        f"{gains}; {significant}{corrected}."
    ]
