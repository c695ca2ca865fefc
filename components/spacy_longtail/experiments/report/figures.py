"""What the plots show, taken out of runs."""

import json
from collections.abc import Sequence
from typing import Any

from .comparison import Comparison
from .inputs import Run
from .plots import (
    MOST,
    Line,
    dumbbells,
    lambda_curves,
    learning_curves,
    pr_moves,
    reliability_plot,
    size_factors,
)
from .systems import AVERAGES, DEV_SCORE, Choice, System, mean

LAMBDA = "lam"  # of longtail.MoM.v1
Documents = list[dict[str, Any]]


def draw_plots(
    comparison: Comparison,
    choice: Choice,
    systems: Sequence[System],
    statistics: dict[str, Any],
    documents: dict[str, Documents],
) -> dict[str, str]:
    """All plots that there is data for.

    comparison (Comparison): What the page is about. choice (Choice): The same, as systems.
    systems (Sequence[System]): All. statistics (Dict[str, Any]): Of the corpus.
    documents (Dict[str, List[Dict[str, Any]]]): With predictions, by name of the system, ours first.
    RETURNS (Dict[str, str]): svg elements by name; what there is no data for is left out.
    RAISES (ValueError): L406.
    """
    rows, baseline, ours = comparison.rows, comparison.baseline, comparison.ours
    found = {"f1": dumbbells(rows, baseline, ours)}
    if baseline is not None:
        found["pr"] = pr_moves(rows, baseline, ours)
    curves = curve_lines(choice, systems)
    if curves:
        found["curve"] = learning_curves(curves)
    lambdas = lambda_lines([run for system in systems for run in system.runs])
    if lambdas:
        found["lambda"] = lambda_curves(lambdas)
    scored = {name: pairs for name, docs in documents.items() if (pairs := scored_entities(docs))}
    if scored:
        found["reliability"] = reliability_plot(scored)
    if statistics["policies"]:
        found["size"] = size_factors(statistics["policies"])
    return found


def curve_lines(choice: Choice, systems: Sequence[System]) -> list[Line]:
    """Macro F1 on dev by step: ours, the baseline, and the others that are best on dev."""
    first = [system for system in (choice.ours, choice.baseline) if system is not None]
    others = [s for s in systems if s.name not in [f.name for f in first] and s.dev()]
    others.sort(key=lambda system: -(mean(system.dev()) or 0.0))
    lines = []
    for system in [*first, *others][:MOST]:
        by_step: dict[float, list[float]] = {}
        for run in system.runs:
            for point in run.data.get("curve", ()):
                if DEV_SCORE in point:
                    by_step.setdefault(point["step"], []).append(point[DEV_SCORE])
        if len(by_step) > 1:
            steps = sorted(by_step)
            lines.append(Line(system.name, steps, [by_step[step] for step in steps]))
    return lines


def lambda_lines(runs: Sequence[Run]) -> list[Line]:
    """Scores by MoM's lambda, of the runs that differ in nothing else but the seed."""
    families: dict[str, list[tuple[float, Run]]] = {}
    for run in runs:
        value, rest = _without_lambda(run.data.get("method", {}))
        if value is not None:
            families.setdefault(rest, []).append((value, run))
    family = max(families.values(), key=lambda own: len({value for value, _ in own}), default=[])
    values = sorted({value for value, _ in family})
    if len(values) < 2:
        return []
    by_value = [System("", [run for own, run in family if own == value]) for value in values]
    lines = [Line("macro, dev", values, [system.dev() for system in by_value])]
    kinds = [kind for kind in AVERAGES if kind != "weighted"]
    lines += [Line(f"{k}, test", values, [s.scores(k) for s in by_value]) for k in kinds]
    return [line for line in lines if all(line.values)]


def _without_lambda(method: dict[str, Any]) -> tuple[float | None, str]:
    """MoM's lambda of a method, and the rest of it; null without MoM."""
    found = None
    pipes = {}
    for name, settings in method.get("pipes", {}).items():
        loss = settings.get("loss")
        if isinstance(loss, dict) and LAMBDA in loss:
            found = loss[LAMBDA]
            settings = {**settings, "loss": {k: v for k, v in loss.items() if k != LAMBDA}}
        pipes[name] = settings
    return found, json.dumps({**method, "pipes": pipes}, sort_keys=True)


def scored_entities(documents: Documents) -> list[tuple[float, bool]]:
    """The score of each predicted entity that has one, and whether it is right."""
    found = []
    for document in documents:
        gold = {tuple(span[:3]) for span in document["gold"]}
        for start, end, label, score in (row[:4] for row in document["predicted"] if len(row) > 3):
            if score is not None:
                found.append((float(score), (start, end, label) in gold))
    return found
