"""The report on the runs of a corpus: an HTML page, its Markdown twin, and a table for a terminal."""

from .card import write_card
from .inputs import metrics_files
from .report import Summary, read_report, summarize, summary_table
from .writing import check_report, write_report

__all__ = [
    "Summary",
    "check_report",
    "metrics_files",
    "read_report",
    "summarize",
    "summary_table",
    "write_card",
    "write_report",
]
