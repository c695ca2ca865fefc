"""Wording of a report: its sentences, and the table for the terminal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ...output.console import number, p_value, percent, signed, text_table
from ..records import Document
from ..significance import TOO_FEW, describe, headline, how_tested
from .comparison import HEADLINES, Report, ScoreRow
from .marks import pairs_of, place_of

MAX_SHOWN = 3  # kinds of error of a type, and example mentions of each kind
FATES = {"missed": "missed", "boundary": "found with other ends", "spurious": "not in the annotation"}


def verdict(report: Report) -> tuple[str, list[str]]:
    """Return what the comparison shows, as a headline and sentences on averages and rare types.

    report (Report): The comparison.
    """
    ours, baseline = report.ours, report.baseline
    if baseline is None:
        return f"{ours} alone: there is no other model to compare it with.", []
    if report.early:
        return report.early, []
    rows = {f"{kind} F1": report.averages[kind] for kind in HEADLINES}
    averages = {name: row.verdict for name, row in rows.items() if row.verdict}
    rare = [row for row in report.rows if row.rare and row.support]
    types = {f"F1 of {row.name}": row.verdict for row in rare if row.verdict}
    return headline(ours, baseline, averages), describe(ours, {**averages, **types}, report.unit)


def counted(report: Report) -> str:
    """Count the entities that are found, and the predictions that are correct, without statistics.

    report (Report): The comparison.
    RETURNS (str): Two sentences on the rare types, or on all types if test has no rare one.
    """
    (right, predicted, gold), *others = report.mentions
    what = "rare entities" if report.is_rare else "entities"
    counts = f"{report.ours} finds {round(right, 1):,.9g} of the {gold:,.9g} {what}"
    exact = (
        f"Of the {what} that {report.ours} predicts, {percent(right / (predicted or 1))} % are correct"
    )
    for right, predicted, _ in others:
        counts += f", {report.baseline} {round(right, 1):,.9g}"
        exact += (
            f"; of the {what} that {report.baseline} predicts, {percent(right / (predicted or 1))} %"
        )
    return f"{counts}. {exact}."


def stalled(report: Report, documents: Iterable[Document]) -> list[str]:
    """Describe the errors in rare types that did not improve.

    report (Report): The comparison.
    documents (Iterable[Document]): Documents of a run of our method.
    RETURNS (List[str]): Two sentences for each type that has errors.
    """
    rows = [row for row in report.rows if row.rare and row.support and (row.difference or 0) <= 0]
    errors: dict[str, dict[str, list[str]]] = {row.name: defaultdict(list) for row in rows}
    for doc in documents:
        for pair in pairs_of(doc):
            labels = [mention.label for mention in pair if mention]
            if labels[0] in errors and pair.kind != "correct":
                fate = FATES.get(pair.kind, f"taken for {labels[-1]}")
                errors[labels[0]][fate].append(doc.text[slice(*place_of(pair))])
    texts, training = [], report.statistics.parts["train"].types
    for label, by_fate in errors.items():
        fates = sorted(by_fate.items(), key=lambda item: -len(item[1]))[:MAX_SHOWN]
        said = [f"{len(m)} {fate} ({', '.join(dict.fromkeys(m[:MAX_SHOWN]))})" for fate, m in fates]
        n = number(training[label].mentions, "training mention")
        texts += [f"{label}: {'; '.join(said)}. It has {n}."] if said else []
    return texts


def usage_in_words(used: Mapping[str, float]) -> str:
    """Describe how often a longtail_gated_pipe used its secondary.

    used (Mapping[str, float]): Usage counts of the component.
    RETURNS (str): One sentence for reports.
    """
    share = 100 * used["flagged"] / max(1, used["sentences"])
    cost = f"{number(used['calls'], 'call')}, {number(used['words'], 'word')}, {used['seconds']:,.1f} s"
    rest = f"; {used['refused']:,} were of types that it may not set" if used["refused"] else ""
    rest += f"; it failed on {used['failures']:,}" if used["failures"] else ""
    went = f"{used['flagged']:,} of {used['sentences']:,}; {cost}"
    added = number(used["entities"], "entity", "entities")
    return f"{share:.1f} % of the sentences went to the secondary ({went}), which added {added}{rest}."


def summarize(report: Report) -> dict[str, Any]:
    """Return the content of the result table as JSON data.

    report (Report): The comparison.
    """
    title, findings = verdict(report)
    tested = {f"{kind} F1": row.verdict for kind, row in report.averages.items() if row.verdict}
    return {
        "corpus": report.statistics.corpus,
        "baseline": report.baseline,
        "ours": report.ours,
        "seeds": {system.name: [run.seed for run in system.runs] for system in report.systems},
        "sentence": counted(report),
        "verdict": title,
        "findings": findings,
        "test": " ".join(how_tested(tested, report.unit)),
        "rows": [
            {"type": row.name, "support": row.support, "rare": row.rare, **_as_json(row)}
            for row in report.rows
        ],
        "averages": {kind: _as_json(row) for kind, row in report.averages.items()},
    }


def _as_json(row: ScoreRow) -> dict[str, Any]:
    return {
        "baseline": row.baseline,
        "ours": row.ours,
        "interval": row.interval,
        "p": row.verdict and row.verdict.adjusted,
        "outcome": row.verdict and row.verdict.outcome,
    }


def summary_table(report: Report) -> str:
    """Return the result table for a terminal.

    report (Report): The comparison.
    RETURNS (str): One line for each type and each average, then the verdict.
    """
    rows = [(row.name + " *" * row.rare, row.support, *_cells(row, report)) for row in report.rows]
    rows += [(kind, "", *_cells(row, report)) for kind, row in report.averages.items()]
    header = ["Type (* rare)", "Support", report.ours, "95 % interval"]
    if report.baseline is not None:
        header[2:2] = [report.baseline]
        header += ["Difference", "p"]
    title, findings = verdict(report)
    lines = [title, counted(report), *(f"- {text}" for text in findings)]
    return "\n".join([text_table(header, rows), *lines, ""])


def _cells(row: ScoreRow, report: Report) -> list[str]:
    cells = [percent(row.ours), " to ".join(map(percent, row.interval or [None]))]
    if report.baseline is None:
        return cells
    points = None if row.difference is None else 100 * row.difference
    is_tested = row.verdict is not None and row.verdict.outcome != TOO_FEW
    p = p_value(row.verdict.adjusted) if row.verdict and is_tested else "–"
    return [percent(row.baseline), *cells, signed(points), p]
