"""The report: one HTML file that holds a model against the baseline, and needs nothing else."""

import os
from pathlib import Path
from typing import Any

import wasabi
from jinja2 import Environment, PackageLoader, StrictUndefined

from ..about import __version__
from ..corpora import PARTS
from .comparison import AVERAGES, Comparison, Pair, average, compare, dev_score, percent, signed, verdict
from .marks import KINDS, LIMIT, Mark, mark_documents
from .plots import f1_bars, pr_arrows, size_factors
from .report_inputs import read_evaluations, read_statistics


def write_report(
    statistics: Path,
    evaluations: list[Path],
    target: Path,
    baseline: str = "baseline",
    ours: str | None = None,
) -> dict[str, Any]:
    """Write the report of a corpus and the models evaluated on it.

    statistics (Path): The corpus statistics, as the command `stats` writes them.
    evaluations (List[Path]): Of the baseline and at least one other model, all on the same test part.
    target (Path): The HTML file to write; nothing is left behind if that fails.
    baseline (str): Name of the evaluation to compare with.
    ours (Optional[str]): Name of the one to compare; null takes the best macro F1 on dev.
    RETURNS (Dict[str, Any]): What the result table shows, scores in [0, 1]: corpus, baseline, ours,
        rows (type, support, rare, baseline, ours), averages (macro, micro, weighted, tail).
    RAISES (ValueError): L405, L406, L410, L411, L412, L413.
    """
    stats = read_statistics(statistics)
    found = read_evaluations(evaluations, stats)
    comparison = compare(found, stats, baseline, ours)
    html = render(stats, found, comparison)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # a lone surrogate is legal in JSON and has no UTF-8
        unfinished.write_bytes(html.encode("utf-8", "replace"))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return summarize(stats["corpus"], comparison)


def summary_table(summary: dict[str, Any]) -> str:
    """The result table for a terminal.

    summary (Dict[str, Any]): What `write_report` returned.
    RETURNS (str): One line per type, then one per average.
    """
    rows = []
    for row in summary["rows"]:
        name = f"{row['type']} *" if row["rare"] else row["type"]
        rows.append((name, row["support"], *_cells(Pair(row["baseline"], row["ours"]))))
    for name, scores in summary["averages"].items():
        rows.append((name, "", *_cells(Pair(scores["baseline"], scores["ours"]))))
    header = ("Type (* rare)", "Support", summary["baseline"], summary["ours"], "Difference")
    return wasabi.table(rows, header=header, divider=True, aligns=("l", "r", "r", "r", "r"))


def render(stats: dict[str, Any], found: dict[str, dict[str, Any]], comparison: Comparison) -> str:
    """Make the page.

    stats (Dict[str, Any]): The corpus statistics.
    found (Dict[str, Dict[str, Any]]): Evaluations by name.
    comparison (Comparison): The two that the page is about.
    RETURNS (str): HTML.
    RAISES (ValueError): L406.
    """
    loader = PackageLoader("spacy_longtail.experiments")
    page = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    page.trim_blocks = page.lstrip_blocks = True
    page.filters.update(percent=percent, signed=signed, points=_points, decimal=_decimal, count=_count)
    rows, names = comparison.rows, (comparison.baseline, comparison.ours)
    headline, numbers = verdict(comparison)
    rare_supports = [row.support for row in rows if row.rare and row.support]
    return page.get_template("report.html").render(
        version=__version__,
        corpus=stats["corpus"],
        stats=stats,
        parts=PARTS,
        comparison=comparison,
        headline=headline,
        numbers=numbers,
        fewest=min(rare_supports, default=0),
        models=[_model(evaluation, names) for evaluation in found.values()],
        types=sorted(stats["labels"], key=lambda t: -stats["parts"]["train"]["types"][t]["mentions"]),
        f1_plot=f1_bars(rows, *names),
        pr_plot=pr_arrows(rows, *names),
        size_plot=size_factors(stats["policies"]) if stats["policies"] else "",
        limit=LIMIT,
        **_entities(found[comparison.ours], stats),
    )


def _entities(evaluation: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    marked = mark_documents(evaluation["documents"], stats["tail"])
    labels = {t for s in marked.sentences for m in s.marks for t in m.gold + m.predicted}
    # a model may know types that the corpus does not declare
    every = stats["labels"] + sorted(labels - set(stats["labels"]))
    numbers = {label: i for i, label in enumerate(every)}  # a label may hold spaces
    return {"marked": marked, "kinds": KINDS, "type_numbers": numbers, "tag": _tag, "hint": _hint}


def _tag(mark: Mark) -> str:
    """What stands beside an entity; it says in words what the line under the text shows."""
    gold, predicted = " + ".join(mark.gold), " + ".join(mark.predicted)
    score = "" if mark.score is None else f" {mark.score:.2f}"
    if mark.kinds == ("correct",):
        return f"{gold} ✓{score}"
    if mark.kinds == ("missed",):
        return f"{gold} missed"
    if mark.kinds == ("spurious",):
        return f"{predicted} spurious{score}"
    what = f"{gold} → {predicted}" if "type" in mark.kinds else gold
    return f"{what} wrong {' and '.join(mark.kinds)}{score}"


def _hint(mark: Mark) -> str:
    sides = {"gold": mark.gold, "predicted": mark.predicted}
    texts = []
    for side, labels in sides.items():
        text = "".join(s.text for s in mark.segments if getattr(s, side))
        texts.append(f"{side}: {' + '.join(labels)} “{text}”" if labels else f"{side}: none")
    score = "" if mark.score is None else f"; entity score {mark.score:.4f}"
    return "; ".join(texts) + score


def _model(evaluation: dict[str, Any], names: tuple[str, str]) -> dict[str, Any]:
    training = evaluation["training"]
    return {
        "name": evaluation["name"],
        "role": dict(zip(names, ("baseline", "ours"), strict=True)).get(evaluation["name"], ""),
        **{kind: average(evaluation, kind) for kind in AVERAGES},
        "dev": dev_score(evaluation),
        "speed": evaluation["words_per_second"],
        "seed": training.get("seed"),
        "max_steps": training.get("max_steps"),
        # folders above say where it was trained, which is nobody's business
        "model": _short(evaluation["model"]),
        "data": _short(evaluation["data"]),
    }


def _short(path: str) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def summarize(corpus: str, comparison: Comparison) -> dict[str, Any]:
    """What the result table shows, as `write_report` returns it.

    corpus (str): Its name. comparison (Comparison): Baseline and ours.
    RETURNS (Dict[str, Any]): JSON data, scores in [0, 1].
    """
    rows = [
        {"type": r.label, "support": r.support, "rare": r.rare, **r.f._asdict()} for r in comparison.rows
    ]
    averages = {kind: pair._asdict() for kind, pair in comparison.averages.items()}
    names = {"corpus": corpus, "baseline": comparison.baseline, "ours": comparison.ours}
    return {**names, "rows": rows, "averages": averages}


def _cells(pair: Pair) -> tuple[str, str, str]:
    return percent(pair.baseline), percent(pair.ours), signed(_points(pair.difference))


def _points(score: float | None) -> float | None:
    return None if score is None else 100 * score


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
