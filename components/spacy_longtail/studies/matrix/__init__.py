"""What the trials of a plan show: tables, learning curves, a recommendation, pages."""

from .cutting import fold_plan
from .recommendation import Recommendation
from .summary import CorpusSummary, Folds, Summary, summarize_trials
from .writing import summary_tables, write_matrix_report

__all__ = [
    "CorpusSummary",
    "Folds",
    "Recommendation",
    "Summary",
    "fold_plan",
    "summarize_trials",
    "summary_tables",
    "write_matrix_report",
]
