"""Writer of a report: one self-contained HTML file and a Markdown version, from templates."""

import math
import re
from pathlib import Path

import srsly
from jinja2 import Environment, PackageLoader, StrictUndefined

from ...about import __version__
from ...corpus.folder import PARTS
from ...corpus.rare import rare_sentence
from ...errors import Errors
from ...output.console import number, p_value, percent, signed
from ...output.targets import check_file
from ...output.writing import replacing
from ...training.provenance import short_path
from ..records import read_evaluation
from ..significance import TOO_FEW, primary_is
from .comparison import HEADLINES, Report
from .marks import LIMIT, mark_documents
from .systems import MeanAndStd, mean, over_seeds
from .wording import counted, stalled, usage_in_words, verdict

SUFFIXES = (".html", ".htm")
SIGNATURE = "Made by spacy-longtail"  # near the end of both files, which may be replaced
WORST = 10  # number of sentences in the Markdown version
SPACES = re.compile(r"\s+")
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#&])")
NO_BREAK = "\u00a0"
NUMBERS = re.compile(r"\b[pt] [<=] (?=[-\d\u2212])|(?<=\d) (?:%|points?\b)|^< ")


def check_report(target: Path) -> Path:
    """Refuse a report that cannot be written, or that would replace another file.

    target (Path): The HTML file.
    RETURNS (Path): The Markdown file beside it.
    RAISES (ValueError): If the name has another suffix, or a file there is not a report.
    """
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(
            Errors.L436.format(
                path=target,
                problem=f"its name does not end in {' or '.join(SUFFIXES)}",
                kind="HTML file",
            )
        )
    twin = target.with_suffix(".md")
    for path in (target, twin):
        check_file(path, mark=SIGNATURE)
    return twin


def write_report(report: Report, target: Path) -> Path:
    """Write the HTML page and the Markdown version beside it, both or none.

    report (Report): Content of the report.
    target (Path): The HTML file. Only earlier reports are replaced.
    RETURNS (Path): The Markdown file.
    """
    twin = check_report(target)
    values = _values(report)
    write_pages(target, render("report.html", **values), render("report.md", **values))
    return twin


def write_pages(target: Path, html: str, markdown: str) -> None:
    """Write an HTML page and its Markdown version beside it, both or none.

    target (Path): The HTML file.
    html (str): Its content.
    markdown (str): Content of the Markdown file.
    """
    with replacing(target.parent) as folder:
        for path, text in ((target, html), (target.with_suffix(".md"), markdown)):
            # a lone surrogate is legal in JSON and has no UTF-8
            (folder / path.name).write_bytes(text.encode("utf-8", "replace"))


def _values(report: Report) -> dict[str, object]:
    """Return the variables of the templates."""
    stats, systems = report.statistics, report.systems
    training = {t: counts.mentions for t, counts in stats.parts["train"].types.items()}
    runs = [run for system in systems for run in system.runs]
    ours, baseline = (
        [system.runs[0] for system in systems if system.name == name]
        for name in (report.ours, report.baseline)
    )
    first, *others = (read_evaluation(run.path).documents for run in (*ours, *baseline))
    marked = mark_documents(first, stats.tail, others[0] if others else [])
    # a model may predict types that the corpus does not declare
    labels = {label for s in marked for mark in s.marks for label in mark.labels}
    every = stats.labels + sorted(labels - set(stats.labels))
    versions = {", ".join(map(" ".join, run.evaluation.run.versions.items())) for run in runs}
    headline, findings = verdict(report)
    evaluation = ours[0].evaluation
    return {
        "comparison": report,
        "corpus": stats.corpus,
        "stats": stats,
        "parts": PARTS,
        "types": sorted(stats.labels, key=lambda t: -training[t]),
        "rare": rare_sentence(stats.tail, training, stats.labels),
        "headline": headline,
        "counted": counted(report),
        "stalled": stalled(report, first),
        "findings": findings,
        "headlines": HEADLINES,
        "n_seeds": report.n_seeds,
        "fewest": min((r.support for r in report.rows if r.rare and r.support), default=0),
        "systems": systems,
        "roles": {s.name: "" for s in systems} | {report.baseline: "baseline", report.ours: "ours"},
        "verdicts": report.verdicts,
        "runs": runs,
        "versions": sorted(versions - {""}),
        "details": evaluation.analysis,
        "scores": evaluation.scores,
        "secondaries": {n: usage_in_words(used) for n, used in evaluation.secondaries.items()},
        "marked": marked[:LIMIT],
        "n_left_out": max(len(marked) - LIMIT, 0),
        "worst": [sentence for sentence in marked if sentence.errors][:WORST],
        "limit": LIMIT,
        # class names in HTML are numbered, because a label may have spaces
        "type_numbers": {label: i for i, label in enumerate(every)},
    }


def render(template: str, **values: object) -> str:
    """Fill in one of the package's templates.

    template (str): File name of the template. Values in HTML templates are escaped.
    values (object): Variables of the template. A missing one is an error.
    RETURNS (str): The text.
    """
    made = Environment(
        loader=PackageLoader("spacy_longtail.evaluation.report"),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        percent=percent,
        signed=signed,
        points=lambda score: None if score is None else 100 * score,
        decimal=lambda value: "–" if value is None else f"{value:.2f}",
        count=lambda value: "–" if value is None else f"{value:,.0f}",
        p=lambda own: "–" if own is None or own.outcome == TOO_FEW else unbroken(p_value(own.adjusted)),
        primary_is=lambda own: primary_is(own) if own else "not tested",
        cell=cell,
        md=lambda text: MARKDOWN.sub(r"\\\1", SPACES.sub(" ", str(text))),  # as it is, on one line
        code=_code,
        setting=lambda value: value if isinstance(value, str) else srsly.json_dumps(value),
        over_seeds=lambda values: cell(over_seeds(values)),
        mean=mean,
        short_path=short_path,
        unbroken=unbroken,
        number=number,
        log=math.log,
    )
    return made.get_template(template).render(version=__version__, **values)


def cell(over: MeanAndStd) -> str:
    """Format mean and standard deviation over seeds, in points of 100."""
    value, deviation = over
    return percent(value) + ("" if deviation is None else f" ± {100 * deviation:.1f}")


def unbroken(text: str) -> str:
    """Replace spaces beside numbers with non-breaking ones, so that lines do not end there."""
    return NUMBERS.sub(lambda match: match[0].replace(" ", NO_BREAK), text)


def _code(text: str) -> str:
    """Format text as code in a cell of a Markdown table."""
    shown = SPACES.sub(" ", text).replace("|", "\\|").replace("`", "'")
    return f"`{shown}`" if text else "–"
