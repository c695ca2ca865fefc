"""What the trials of a plan show: tables, learning curves, a recommendation, pages."""

from .forecasts import Question
from .recommendation import Recommendation
from .summary import CorpusSummary, Summary, summarize_trials
from .writing import summary_tables, write_forecasts, write_matrix_report

__all__ = [
    "CorpusSummary",
    "Question",
    "Recommendation",
    "Summary",
    "summarize_trials",
    "summary_tables",
    "write_forecasts",
    "write_matrix_report",
]
