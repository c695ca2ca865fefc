"""What the plots show, taken out of runs."""

import json
from collections.abc import Sequence

from ...corpus.statistics import Statistics
from ...training.provenance import DEV_SCORE, LAMBDA, comparable
from ..records import Document, Evaluation
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
from .systems import AVERAGES, Choice, System, mean

Documents = list[Document]


def draw_plots(
    comparison: Comparison,
    choice: Choice,
    systems: Sequence[System],
    statistics: Statistics,
    documents: dict[str, Documents],
) -> dict[str, str]:
    """All plots that there is data for.

    comparison (Comparison): What the page is about. choice (Choice): The same, as systems.
    systems (Sequence[System]): All. statistics (Statistics): Of the corpus.
    documents (Dict[str, List[Document]]): With predictions, by name of the system, ours first.
    RETURNS (Dict[str, str]): svg elements by name; what there is no data for is left out.
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
        found["reliability"] = reliability_plot(scored, baseline)
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


def lambda_lines(runs: Sequence[Run]) -> list[Line]:
    """Scores by MoM's lambda, of the runs that differ in nothing else but the seed."""
    families: dict[str, list[tuple[float, Run]]] = {}
    for run in runs:
        value, rest = _without_lambda(run.evaluation)
        if value is not None:
            families.setdefault(rest, []).append((value, run))
    family = max(families.values(), key=lambda own: len({value for value, _ in own}), default=[])
    values = sorted({value for value, _ in family})
    if len(values) < 2:
        return []
    by_value = [System("", [run for own, run in family if own == value]) for value in values]
    lines = [Line("macro, dev", values, [system.dev() for system in by_value])]
    kinds = [kind for kind in AVERAGES if kind != "weighted"]
    for kind in kinds:
        role = "rare" if kind == "tail" else ""
        lines.append(Line(f"{kind}, test", values, [s.scores(kind) for s in by_value], role))
    return [line for line in lines if all(line.values)]


def _without_lambda(evaluation: Evaluation) -> tuple[float | None, str]:
    """MoM's lambda of an evaluation, and all else that makes its method; null without one lambda."""
    method, training = evaluation.method, evaluation.training
    losses = [settings.get("loss") for settings in method.pipes.values()]
    lambdas = [loss.get(LAMBDA) for loss in losses if isinstance(loss, dict)]
    found = {value for value in lambdas if isinstance(value, (int, float))}
    rest = [comparable(method.as_json()), comparable(training.as_json()), evaluation.run.checksums]
    return found.pop() if len(found) == 1 else None, json.dumps(rest, sort_keys=True)


def scored_entities(documents: Documents) -> list[tuple[float, bool]]:
    """The score of each predicted entity that has one, and whether it is right."""
    found = []
    for document in documents:
        gold = set(document.gold)
        for start, end, label, score in document.predicted:
            if score is not None:
                found.append((score, (start, end, label) in gold))
    return found
