"""A report's files: the page and its twin, written together."""

from pathlib import Path

from ...errors import Errors
from ...output.writing import check_file, coded_io, replacing
from .inputs import read_documents
from .page import render_html, render_markdown
from .report import Report

SUFFIXES = (".html", ".htm")
SIGNATURE = "Made by spacy-longtail"  # near the end of both files


def check_report(target: Path) -> Path:
    """Refuse a page that cannot be written, or that would replace something else.

    target (Path): The HTML file.
    RETURNS (Path): Its Markdown twin.
    """
    if target.suffix.lower() not in SUFFIXES:
        problem = f"{target.name} does not end in {' or '.join(SUFFIXES)}"
        raise ValueError(Errors.L415.format(path=target, problem=problem))
    twin = target.with_suffix(".md")
    for path in (target, twin):
        check_file(path, mark=SIGNATURE)
    return twin


def write_report(report: Report, target: Path) -> Path:
    """Write the page, and its Markdown twin beside it. Both or none.

    report (Report): What there is to say.
    target (Path): The HTML file. Of its name no file is overwritten that no report wrote.
    RETURNS (Path): The Markdown file.
    """
    twin = check_report(target)
    ours, first = report.choice.ours, report.choice.baseline
    documents = {s.name: read_documents(s.runs[0]) for s in (ours, first) if s is not None}
    texts = {target: render_html(report, documents), twin: render_markdown(report, documents)}
    with coded_io(target), replacing(target.parent) as folder:
        for path, text in texts.items():
            # a lone surrogate is legal in JSON and has no UTF-8
            (folder / path.name).write_bytes(text.encode("utf-8", "replace"))
    return twin
