"""What the trials of a plan show: tables, learning curves, a recommendation, pages."""

from .recommendation import Recommendation
from .summary import CorpusSummary, Summary, summarize_trials
from .writing import summary_tables, write_matrix_report

__all__ = [
    "CorpusSummary",
    "Recommendation",
    "Summary",
    "summarize_trials",
    "summary_tables",
    "write_matrix_report",
]
