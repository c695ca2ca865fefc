"""A report as one HTML file that loads nothing, and as Markdown."""

from collections.abc import Sequence

from ...corpus.folder import PARTS
from ...corpus.rare import rare_sentence
from ...corpus.statistics import Statistics
from ..records import Document
from ..significance import LEAST_SEEDS, bootstrap_standard_error
from .comparison import HEADLINES, Comparison
from .examples import differences
from .figures import draw_plots
from .marks import LIMIT, Mark, mark_documents
from .plain import beside_it, in_one_sentence
from .rendering import render
from .report import Report
from .systems import System
from .wording import percent, verdict

Documents = list[Document]

WORST = 10  # sentences of the Markdown twin


def render_html(report: Report, documents: dict[str, Documents]) -> str:
    """The page.

    report (Report): What there is to say.
    documents (Dict[str, List[Document]]): With predictions, by name of the system, ours first.
    RETURNS (str): HTML.
    """
    plots = draw_plots(report.comparison, report.choice, report.systems, report.statistics)
    ours, baseline = _sides(report, documents)
    entities = _entities(ours, report.statistics, baseline=baseline)
    return _render("report.html", report, documents, plots=plots, **entities)


def render_markdown(report: Report, documents: dict[str, Documents]) -> str:
    """The twin: the tables of the page, for a terminal, an issue or a repository.

    report (Report): What there is to say.
    documents (Dict[str, List[Document]]): As for the page.
    RETURNS (str): Markdown.
    """
    ours, _ = _sides(report, documents)
    entities = _entities(ours, report.statistics, WORST, errors_only=True)
    return _render("report.md", report, documents, **entities)


def _sides(report: Report, documents: dict[str, Documents]) -> tuple[Documents, Documents]:
    """The documents of ours and of the baseline; without one there are none."""
    ours, baseline = report.choice.ours, report.choice.baseline
    return documents[ours.name], [] if baseline is None else documents[baseline.name]


def _render(template: str, report: Report, documents: dict[str, Documents], **more: object) -> str:
    own, other = _sides(report, documents)
    stats, comparison, ours = report.statistics, report.comparison, report.choice.ours
    headline, findings = verdict(comparison)
    training = {t: own.mentions for t, own in stats.parts["train"].types.items()}
    return render(
        template,
        corpus=stats.corpus,
        stats=stats,
        parts=PARTS,
        comparison=comparison,
        date=report.date,
        sentence=in_one_sentence(report.finding, comparison),
        beside=beside_it(report.finding, comparison),
        differences=differences(own, other, stats.tail) if other else None,
        headline=headline,
        findings=findings,
        least_seeds=LEAST_SEEDS,
        headlines=HEADLINES,
        n_seeds=comparison.n_seeds,
        fewest=min((row.support for row in comparison.rows if row.rare and row.support), default=0),
        systems=report.systems,
        roles={system.name: report.choice.role(system) for system in report.systems},
        verdicts=report.verdicts,
        standard_error=bootstrap_standard_error,
        runs=[run for system in report.systems for run in system.runs],
        details=ours.runs[0].evaluation.analysis,
        scores=ours.runs[0].evaluation.scores,
        secondaries=ours.runs[0].evaluation.secondaries,
        versions=_versions(report.systems),
        tests=_tests(comparison),
        has_errors=any(len(system.runs) > 1 for system in report.systems),
        types=sorted(stats.labels, key=lambda t: -training[t]),
        rare=rare_sentence(stats.tail, training),
        limit=LIMIT,
        **more,
    )


def _entities(
    documents: Documents,
    stats: Statistics,
    limit: int = LIMIT,
    *,
    errors_only: bool = False,
    baseline: Documents | None = None,
) -> dict[str, object]:
    marked = mark_documents(
        documents, stats.tail, limit, errors_only=errors_only, baseline=baseline or []
    )
    labels = {t for s in marked.sentences for m in s.marks for t in m.gold + m.predicted}
    # a model may know types that the corpus does not declare
    every = stats.labels + sorted(labels - set(stats.labels))
    numbers = {label: i for i, label in enumerate(every)}  # a label may hold spaces
    return {"marked": marked, "type_numbers": numbers, "tag": _tag, "hint": _hint}


def _tag(mark: Mark) -> str:
    """The text beside an entity, which says in words what the line under it shows."""
    gold, predicted = " + ".join(mark.gold), " + ".join(mark.predicted)
    score = "" if mark.score is None else f" {100 * mark.score:.0f}"
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
    score = "" if mark.score is None else f"; entity score {percent(mark.score)} of 100"
    return "; ".join(texts) + score


def _tests(comparison: Comparison) -> list[str]:
    """The tests that were made, and of what where there are several."""
    found: dict[str, list[str]] = {}
    for row in comparison.rows:
        if row.verdict is not None:
            found.setdefault(row.verdict.test, []).append(row.label)
    for kind, average in comparison.averages.items():
        if average.verdict is not None:
            found.setdefault(average.verdict.test, []).append(kind)
    return [test if len(found) == 1 else f"{test} ({', '.join(own)})" for test, own in found.items()]


def _versions(systems: Sequence[System]) -> list[str]:
    """Each set of versions that models were trained with, in words."""
    sets = [run.evaluation.run.versions for system in systems for run in system.runs]
    texts = [", ".join(f"{name} {number}" for name, number in found.items()) for found in sets]
    return sorted({text for text in texts if text})
