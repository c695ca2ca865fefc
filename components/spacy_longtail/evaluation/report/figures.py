"""What the plots show, taken out of runs."""

from collections.abc import Sequence

from ...corpus.statistics import Statistics
from ...training.provenance import DEV_SCORE
from .comparison import Comparison
from .inputs import Run
from .plots import (
    MOST,
    Line,
    dumbbells,
    learning_curves,
    pr_moves,
    size_factors,
)
from .systems import Choice, System, mean


def draw_plots(
    comparison: Comparison,
    choice: Choice,
    systems: Sequence[System],
    statistics: Statistics,
) -> dict[str, str]:
    """All plots that there is data for.

    comparison (Comparison): What the page is about. choice (Choice): The same, as systems.
    systems (Sequence[System]): All. statistics (Statistics): Of the corpus.
    RETURNS (Dict[str, str]): svg elements by name; what there is no data for is left out.
    """
    rows, baseline, ours = comparison.rows, comparison.baseline, comparison.ours
    found = {"f1": dumbbells(rows, baseline, ours)}
    if baseline is not None:
        found["pr"] = pr_moves(rows, baseline, ours)
    curves = curve_lines(choice, systems)
    if curves:
        found["curve"] = learning_curves(curves)
    if statistics.policies:
        found["size"] = size_factors(statistics.policies)
    return found


def curve_lines(choice: Choice, systems: Sequence[System]) -> list[Line]:
    """Macro F1 on dev by step: ours, the baseline, and the others that are best on dev.

    A system's line has the steps that all of its seeds have: where one has stopped, the mean of the
    others would jump.
    """
    first = [system for system in (choice.ours, choice.baseline) if system is not None]
    others = [s for s in systems if s.name not in [f.name for f in first] and s.dev()]
    others.sort(key=lambda system: -(mean(system.dev()) or 0.0))
    lines = []
    for system in [*first, *others][:MOST]:
        curves = [_dev_scores(run) for run in system.runs]
        steps = sorted(set.intersection(*(set(curve) for curve in curves)))
        if len(steps) > 1:
            values = [[curve[s] for curve in curves] for s in steps]
            lines.append(Line(system.name, steps, values, choice.role(system)))
    return lines


def _dev_scores(run: Run) -> dict[float, float]:
    """Macro F1 on dev by step."""
    return {p["step"]: p[DEV_SCORE] for p in run.evaluation.curve if DEV_SCORE in p}
