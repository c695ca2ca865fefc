"""A search as one HTML page that loads nothing, and as Markdown."""

from pathlib import Path

from ...evaluation.report.dates import written
from ...evaluation.report.plots import Point, search_plot
from ...evaluation.report.rendering import render
from ...output.writing import coded_io, replacing
from .draws import Tried
from .search import STUDY, Search
from .space import Parameter

PAGE = "tune.html"


def write_search(search: Search, tried: list[Tried], best: Tried, made: str) -> Path:
    """Write the page, and its Markdown twin beside it. Both or none.

    search (Search): What was searched. tried (List[Tried]): All finished trials.
    best (Tried): The best. made (str): The command.
    RETURNS (Path): The page. RAISES (ValueError): L406, L432.
    """
    target = search.output / PAGE
    parameters = search.space.parameters
    values = {
        "corpus": search.corpus.name,
        "steps": search.steps,
        "parameters": parameters,
        "tried": sorted(tried, key=lambda trial: trial.number),
        "best": best,
        "baseline": next((trial for trial in tried if trial.is_baseline), None),
        "made": made,
        "date": written([search.output / STUDY]),
        "shown": _shown,
    }
    plots = {p.name: plot for i, p in enumerate(parameters) if (plot := _plot(p, tried, best, i))}
    texts = {
        target.name: render("tune.html", plots=plots, **values),
        target.with_suffix(".md").name: render("tune.md", **values),
    }
    with coded_io(target), replacing(search.output) as folder:
        for name, text in texts.items():
            (folder / name).write_bytes(text.encode("utf-8", "replace"))
    return target


def _plot(parameter: Parameter, tried: list[Tried], best: Tried, i: int) -> str:
    name = parameter.name
    points = [
        Point(_place(parameter, trial.values[name]), trial.score, _kind(trial, best))
        for trial in tried
        if trial.score is not None and trial.values.get(name) is not None
    ]
    if not points:
        return ""
    scale = "words" if parameter.choices else "log" if parameter.log else "linear"
    return search_plot(name, points, f"search{i}", scale)


def _place(parameter: Parameter, value: float | str) -> float | str:
    return f"{value}" if parameter.choices else value


def _kind(trial: Tried, best: Tried) -> str:
    if trial.number == best.number:
        return "best"
    return "baseline" if trial.is_baseline else trial.status


def _shown(value: object) -> str:
    """A value in a cell."""
    return "–" if value is None else f"{value}"
