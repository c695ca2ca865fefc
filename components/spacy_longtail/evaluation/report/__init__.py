"""The report on the runs of a corpus: an HTML page, its Markdown twin, and a table for a terminal."""

from .card import write_card
from .inputs import metrics_files
from .report import check_report, read_report, summarize, summary_table, write_report

__all__ = [
    "check_report",
    "metrics_files",
    "read_report",
    "summarize",
    "summary_table",
    "write_card",
    "write_report",
]
