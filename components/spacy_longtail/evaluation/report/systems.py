"""Runs of one method over seeds, and which method a report is about."""

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from thinc.types import Ints4d

from ...errors import Errors
from ...training.provenance import DEV_SCORE
from ..convergence import rising_of
from ..records import Evaluation
from ..significance import stack
from .inputs import Run

AVERAGES = {  # what the page shows to the score it reads
    "macro": "ents_macro_f",
    "micro": "ents_f",
    "weighted": "ents_weighted_f",
    "tail": "ents_tail_f",
}
BASELINE = "baseline"  # what a baseline is called unless someone says otherwise


class System(NamedTuple):
    """A method: its runs, one per seed."""

    name: str
    runs: list[Run]

    @property
    def seeds(self) -> list[int | None]:
        return [run.seed for run in self.runs]

    def scores(self, kind: str) -> list[float]:
        """One of AVERAGES on test, a value a seed; no tail of a corpus without rare types."""
        key = AVERAGES[kind]
        return self.values(lambda own: getattr(own.scores, key) if kind != "tail" or own.tail else None)

    def dev(self) -> list[float]:
        """Macro F1 on dev, as training left it; none if it measured none."""
        return self.values(lambda own: own.performance.get(DEV_SCORE))

    def values(self, read: Callable[[Evaluation], float | None]) -> list[float]:
        """The numbers that evaluations hold in some place, those that have one."""
        numbers = (read(run.evaluation) for run in self.runs)
        return [value for value in numbers if value is not None]

    def rising(self) -> str:
        """Why its trainings ended too early; "" if they did not."""
        runs = (run.evaluation for run in self.runs)
        return rising_of({"curve": own.curve, "training": own.training.as_json()} for own in runs)

    def counts(self) -> Ints4d:
        """Mentions of all runs: (n_units, n_seeds, n_types + 1, 3)."""
        return stack([run.counts for run in self.runs])


def mean(values: Sequence[float]) -> float | None:
    return statistics.mean(values) if values else None


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation over seeds; one value has none."""
    return statistics.stdev(values) if len(values) > 1 else None


def group(runs: Sequence[Run]) -> list[System]:
    """Runs by method, in the order in which methods first come, seeds in order."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    return [System(n, sorted(own, key=lambda run: run.seed or 0)) for n, own in by_name.items()]


def on_shared_seeds(baseline: System, other: System) -> tuple[System, System, bool]:
    """Two systems on the seeds that both have, in the same order; on all where they share none.

    baseline (System): One. other (System): The other.
    RETURNS (Tuple[System, System, bool]): Both, and whether they share seeds.
    """
    shared = set(baseline.seeds) & set(other.seeds)
    if not shared:
        return baseline, other, False
    runs = [[run for run in system.runs if run.seed in shared] for system in (baseline, other)]
    return baseline._replace(runs=runs[0]), other._replace(runs=runs[1]), True


def choose(
    systems: Sequence[System], baseline: str | None = None, ours: str | None = None
) -> tuple[System | None, System, bool]:
    """The method that a report is about, and its baseline. No score on test has a say in it.

    systems (Sequence[System]): At least one.
    baseline (Optional[str]): Name of the baseline; null takes the one called "baseline".
    ours (Optional[str]): Name of ours; null takes the best macro F1 on dev, the first of equals.
    RETURNS (Tuple[Optional[System], System, bool]): The baseline, null beside one method alone;
        ours; whether its scores on dev chose it among several.
    """
    by_name = {system.name: system for system in systems}
    names = ", ".join(by_name) or "none"
    if len(systems) == 1 and baseline in (None, *by_name) and ours in (None, *by_name):
        return None, systems[0], False
    first = baseline or BASELINE
    if first not in by_name:
        raise ValueError(Errors.L410.format(role="baseline", name=first, found=names))
    others = [system for system in systems if system.name != first]
    named = [system for system in others if ours in (None, system.name)]
    if len(named) == 1:
        return by_name[first], named[0], False
    scored = [system for system in named if system.dev()]
    if not scored:
        if named:
            names += ", none with performance.ents_macro_f, the score on dev"
        raise ValueError(Errors.L410.format(role="ours", name=ours, found=names))
    return by_name[first], max(scored, key=lambda system: mean(system.dev()) or 0.0), True
