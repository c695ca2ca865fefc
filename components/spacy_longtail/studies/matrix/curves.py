"""Learning curves: scores by the size of the training data or its fraction of entity tokens."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...evaluation.convergence import rising_of
from ...evaluation.report.systems import AVERAGES, mean, spread
from ...evaluation.significance import (
    Decision,
    MentionCounts,
    compare,
    correct,
    how_tested,
    named_metrics,
    stack,
)
from ...output.amounts import signed
from ..trials.store import TrialRecord

Over = tuple[float | None, float | None]  # mean and standard deviation, in [0, 1]
Points = dict[float, dict[int, float]]  # F1 by size or share, ascending, and by partition


class Curves(NamedTuple):
    """Learning curves of all methods on one corpus."""

    x_name: str  # "sentences" or "% entity tokens"
    average: str  # "macro" or "micro"
    lines: dict[str, Points]  # by method
    findings: list[str]

    def table(self) -> tuple[list[float], list[tuple[str, list[Over]]]]:
        """Return the sizes, and each method's mean and standard deviation at each of them."""
        sizes = sorted({x for points in self.lines.values() for x in points})
        rows = []
        for name, points in self.lines.items():
            scores = [list(points.get(x, {}).values()) for x in sizes]
            rows.append((name, [(mean(values), spread(values)) for values in scores]))
        return sizes, rows


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
    by_size: dict[str, dict[float, list[TrialRecord]]] = {}
    x_name = "sentences"
    for record in records:
        if (draw := record.draw) is not None:
            x_name, x = draw.x
            by_size.setdefault(record.method, {}).setdefault(x, []).append(record)
    lines: dict[str, Points] = {}
    for name, trials in by_size.items():
        values = {
            x: {r.seed: r.score("test", AVERAGES[average]) for r in trials[x]} for x in sorted(trials)
        }
        lines[name] = {x: {s: f for s, f in at.items() if f is not None} for x, at in values.items()}
    early = {
        name: {x for x, rs in trials.items() if rising_of(r.data() for r in rs)}
        for name, trials in by_size.items()
    }
    decisions: dict[tuple[str, float], Decision] = {}
    for name in [name for name in lines if name != baseline and baseline in lines]:
        for x in sorted(by_size[name].keys() & by_size[baseline].keys() - early[name] - early[baseline]):
            decided = _decide(by_size[baseline][x], by_size[name][x], read, average)
            if decided is not None:
                decisions[name, x] = decided
    # all methods and sizes of a chart are read together, so they are corrected together
    family = correct({f"{name}/{x!r}": own for (name, x), own in decisions.items()})
    corrected = dict(zip(decisions, family.values(), strict=True))
    findings: list[str] = []
    for name in [name for name in lines if name != baseline and baseline in lines]:
        by_x = {x: own for (method, x), own in corrected.items() if method == name}
        findings += _describe_line(name, baseline, by_x, x_name, average)
        if rising := early[name] | early[baseline]:
            sizes = ", ".join(f"{x:g}" for x in sorted(rising))
            findings.append(f"{name} against {baseline} at {sizes} {x_name}: not trained long enough.")
    findings += [text for key, own in list(family.items())[:1] for text in how_tested({key: own})]
    return Curves(x_name, average, lines, findings)


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
    name: str, baseline: str, by_x: dict[float, Decision], x_name: str, average: str
) -> list[str]:
    """Describe the lead of a method at each size, and where it is significant."""
    if not by_x:
        return []
    gains = ", ".join(f"{signed(100 * own.value)} at {x:g}" for x, own in by_x.items())
    shown = ", ".join(f"{x:g}" for x, own in by_x.items() if own.is_shown)
    significant = f"significant at {shown}" if shown else "nowhere significant"
    n = next(iter(by_x.values())).n_comparisons
    corrected = f" (corrected for {n} comparisons)" if n > 1 else ""
    about = f"{name} against {baseline}, points of {average} F1 by {x_name}"
    return [f"{about}: {gains}; {significant}{corrected}."]
