"""A report as one HTML file that loads nothing, and as Markdown."""

from collections.abc import Sequence
from typing import NamedTuple

from ...corpus.folder import PARTS
from ...corpus.rare import rare_sentence
from ...corpus.statistics import Statistics
from ...training.provenance import short
from ..significance import LEAST_SEEDS, Verdict, bootstrap_standard_error
from .comparison import HEADLINES, Comparison
from .figures import Documents, draw_plots
from .inputs import Run
from .marks import KINDS, LIMIT, Mark, mark_documents
from .rendering import render
from .report import Report
from .systems import System, mean, spread
from .wording import verdict

WORST = 10  # sentences of the Markdown twin


def render_html(report: Report, documents: dict[str, Documents]) -> str:
    """The page.

    report (Report): What there is to say.
    documents (Dict[str, List[Document]]): With predictions, by name of the system, ours first.
    RETURNS (str): HTML.
    RAISES (ValueError): L406.
    """
    plots = draw_plots(report.comparison, report.choice, report.systems, report.statistics, documents)
    entities = _entities(documents[report.choice.ours.name], report.statistics)
    return _render("report.html", report, plots=plots, **entities)


def render_markdown(report: Report, documents: Documents) -> str:
    """The twin: the tables of the page, for a terminal, an issue or a repository.

    report (Report): What there is to say.
    documents (List[Document]): Of ours, with predictions.
    RETURNS (str): Markdown.
    """
    entities = _entities(documents, report.statistics, WORST, errors_only=True)
    return _render("report.md", report, **entities)


def _render(template: str, report: Report, **more: object) -> str:
    stats, comparison, ours = report.statistics, report.comparison, report.choice.ours
    headline, findings = verdict(comparison)
    training = {t: own.mentions for t, own in stats.parts["train"].types.items()}
    return render(
        template,
        corpus=stats.corpus,
        stats=stats,
        parts=PARTS,
        comparison=comparison,
        headline=headline,
        findings=findings,
        least_seeds=LEAST_SEEDS,
        headlines=HEADLINES,
        power=report.power,
        n_seeds=comparison.n_seeds,
        fewest=min((row.support for row in comparison.rows if row.rare and row.support), default=0),
        systems=[_system(system, report) for system in report.systems],
        runs=[_run(run) for system in report.systems for run in system.runs],
        details=ours.runs[0].evaluation.analysis,
        scores=ours.runs[0].evaluation.scores,
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
) -> dict[str, object]:
    marked = mark_documents(documents, stats.tail, limit, errors_only=errors_only)
    labels = {t for s in marked.sentences for m in s.marks for t in m.gold + m.predicted}
    # a model may know types that the corpus does not declare
    every = stats.labels + sorted(labels - set(stats.labels))
    numbers = {label: i for i, label in enumerate(every)}  # a label may hold spaces
    return {"marked": marked, "kinds": KINDS, "type_numbers": numbers, "tag": _tag, "hint": _hint}


def _tag(mark: Mark) -> str:
    """The text beside an entity, which says in words what the line under it shows."""
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


OverSeeds = tuple[float | None, float | None]  # mean, standard deviation


class SystemRow(NamedTuple):
    """A line of the table of models."""

    name: str
    role: str  # baseline, ours or neither, ""
    n_seeds: int
    macro: OverSeeds  # on test, as micro and tail
    micro: OverSeeds
    tail: OverSeeds
    error: float | None  # of macro, over seeds
    dev: OverSeeds  # macro
    speed: float | None  # words per second
    max_steps: list[str]
    verdicts: dict[str, Verdict]  # by average


def _system(system: System, report: Report) -> SystemRow:
    choice = report.choice
    roles = {"baseline": choice.baseline, "ours": choice.ours}
    macro = system.scores("macro")
    found = report.verdicts.get(system.name, {})
    return SystemRow(
        name=system.name,
        role=next((role for role, other in roles.items() if other is system), ""),
        n_seeds=len(system.runs),
        macro=_over_seeds(macro),
        micro=_over_seeds(system.scores("micro")),
        tail=_over_seeds(system.scores("tail")),
        error=bootstrap_standard_error(macro) if len(system.runs) > 1 else None,
        dev=_over_seeds(system.dev()),
        speed=mean([run.evaluation.words_per_second for run in system.runs]),
        max_steps=sorted({str(run.evaluation.training.max_steps) for run in system.runs}),
        verdicts={name.split()[0]: own for name, own in found.items()},
    )


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


def _over_seeds(values: Sequence[float]) -> OverSeeds:
    return mean(values), spread(values)


class RunRow(NamedTuple):
    """A line of the table of what was made from what."""

    name: str
    seed: int | None
    max_steps: int | None
    model: str
    data: str
    checksum: str | None  # of the data
    command: str
    train_checksum: str | None
    seconds: float | None
    macro: float
    micro: float


def _run(run: Run) -> RunRow:
    own, made = run.evaluation, run.evaluation.run
    return RunRow(
        name=run.name,
        seed=run.seed,
        max_steps=own.training.max_steps,
        model=short(own.model),
        data=short(own.data),
        checksum=own.checksum,
        command=made.command,
        train_checksum=made.checksums.get("train"),
        seconds=made.seconds,
        macro=own.scores.ents_macro_f,
        micro=own.scores.ents_f,
    )


def _versions(systems: Sequence[System]) -> list[str]:
    """Each set of versions that models were trained with, in words."""
    sets = [run.evaluation.run.versions for system in systems for run in system.runs]
    texts = [", ".join(f"{name} {number}" for name, number in found.items()) for found in sets]
    return sorted({text for text in texts if text})
